package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tune/internal/plain"
)

// line is a line of progress in parts, of which a narrow terminal may not have room for all.
type line []part

// part is a piece of a line. Those of the lowest rank are left out first.
type part struct {
	text string
	rank int
}

const (
	stays = 9 // the rank of a part that is never left out
	// cut is added to the rank of a part that is cut before it is left out, where leastCut of its characters have room.
	cut      = 16
	leastCut = 10
)

// String returns the whole line.
func (l line) String() string { return l.fit(math.MaxInt) }

// fit returns the line in the given columns. Where the parts that stay have no room, the first of them is cut, because the last one has
// the time that is left.
func (l line) fit(columns int) string {
	for least := 0; ; least++ {
		kept := slices.DeleteFunc(slices.Clone(l), func(p part) bool { return p.text == "" || p.rank%cut <= least })
		over := -columns
		for _, p := range kept {
			over += utf8.RuneCountInString(p.text)
		}
		for i, p := range kept {
			room := utf8.RuneCountInString(p.text) - over
			if over > 0 && (p.rank == cut+least+1 && room >= leastCut || least+1 == stays && i == 0) {
				kept[i].text, over = clip(p.text, room), 0
			}
		}
		if over <= 0 || least+1 == stays {
			var text strings.Builder
			for _, p := range kept {
				text.WriteString(p.text)
			}
			return strings.TrimPrefix(text.String(), " · ")
		}
	}
}

// progressLine makes a line of words that say how far some work is, as "measuring, pair 1 of 20": what follows the comma may be left out.
func progressLine(words string) line {
	what, detail, found := strings.Cut(words, ", ")
	if !found {
		return line{{what, stays}}
	}
	return line{{what, stays}, {", " + detail, 7}}
}

// left adds how long the rest takes: up to or about a time.
func (l line) left(how string, left time.Duration) line {
	return append(l, part{fmt.Sprintf(" · %s %v left", how, atLeastSecond(left)), stays})
}

// drawLine draws a line that changes on a terminal of some columns. A line that fills its row would move the cursor to the next one.
func drawLine(w io.Writer, l line, columns int) {
	fmt.Fprintf(w, "\r\x1b[K%s", clip(plain.Line(l.fit(columns-1)), columns-1))
}

// clip cuts a text to the given number of characters, each of which takes a column.
func clip(text string, columns int) string {
	if r := []rune(text); len(r) > columns {
		return string(r[:max(columns, 0)])
	}
	return text
}
