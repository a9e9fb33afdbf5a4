package cgen

import (
	"fmt"
	"strings"
)

// Writer collects C text. It indents by a tab for each block that is open. The zero value is ready for use.
type Writer struct {
	b     strings.Builder
	depth int
}

// Line writes one line. Lines of the preprocessor stand at the margin.
func (w *Writer) Line(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if strings.Contains(line, "\n") {
		panic("cgen: more than one line: " + line)
	}
	if !strings.HasPrefix(line, "#") {
		for range w.depth {
			w.b.WriteByte('\t')
		}
	}
	w.b.WriteString(line)
	w.b.WriteByte('\n')
}

// Comment writes a line of comment.
func (w *Writer) Comment(format string, args ...any) { w.Line("// "+format, args...) }

// Blank writes an empty line.
func (w *Writer) Blank() { w.b.WriteByte('\n') }

// Open writes the head of a block with its brace, as in "for (;;) {". Close ends the block.
func (w *Writer) Open(format string, args ...any) {
	w.Line(format+" {", args...)
	w.depth++
}

// Close ends the block that was opened last.
func (w *Writer) Close() {
	w.depth--
	w.Line("}")
}

// Macro opens a macro of several lines, as in "#define STEP(u) { \". Its lines are written by MacroLine, and Close ends it.
func (w *Writer) Macro(format string, args ...any) {
	w.Line("#define "+format+" { \\", args...)
	w.depth++
}

// MacroLine writes a line of a macro.
func (w *Writer) MacroLine(format string, args ...any) { w.Line(format+" \\", args...) }

// EndType ends a block that defines a struct.
func (w *Writer) EndType() {
	w.depth--
	w.Line("};")
}

// Block writes a block without a head.
func (w *Writer) Block(body func()) {
	w.Line("{")
	w.depth++
	body()
	w.Close()
}

// Func writes the head of a function, whose brace stands on a line of its own. EndFunc ends it.
func (w *Writer) Func(format string, args ...any) {
	w.Line(format, args...)
	w.Line("{")
	w.depth++
}

// EndFunc ends a function, and leaves a blank line.
func (w *Writer) EndFunc() {
	w.Close()
	w.Blank()
}

// Nested writes lines, each a step deeper than the one before: loops without braces, and their statement.
func (w *Writer) Nested(lines ...string) {
	for _, line := range lines {
		w.Line("%s", line)
		w.depth++
	}
	w.depth -= len(lines)
}

// In goes a step deeper without a brace, for the body of a loop that has none; Out comes back.
func (w *Writer) In() { w.depth++ }

// Out ends In.
func (w *Writer) Out() { w.depth-- }

// Text writes C text as it is.
func (w *Writer) Text(text string) { w.b.WriteString(text) }

// Piece writes a piece of C, filled with data.
func (w *Writer) Piece(p *Pieces, name string, data any) { p.write(&w.b, name, data) }

// String returns the text. Every block must be closed.
func (w *Writer) String() string {
	if w.depth != 0 {
		panic(fmt.Sprintf("cgen: the text ends at depth %d", w.depth))
	}
	return w.b.String()
}
