package cgen

import (
	"fmt"
	"strings"
)

// Writer collects C text. It indents by one tab for each open block. The zero value is ready for use.
type Writer struct {
	b     strings.Builder
	depth int
}

// Line writes one line. Preprocessor lines are not indented. It panics if the text has a line break.
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

// Comment writes a comment line.
func (w *Writer) Comment(format string, args ...any) { w.Line("// "+format, args...) }

// Blank writes an empty line.
func (w *Writer) Blank() { w.b.WriteByte('\n') }

// Open writes the first line of a block, with its brace on the same line, as in "for (;;) {". Close ends the block.
func (w *Writer) Open(format string, args ...any) {
	w.Line(format+" {", args...)
	w.depth++
}

// Close ends the block that was opened last.
func (w *Writer) Close() {
	w.depth--
	w.Line("}")
}

// Macro begins a macro of several lines, as in "#define STEP(u) { \". MacroLine writes its lines, and Close ends it.
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

// Block writes a plain block in braces.
func (w *Writer) Block(body func()) {
	w.Line("{")
	w.depth++
	body()
	w.Close()
}

// Func writes the first line of a function, with its brace on the next line. EndFunc or Close ends it.
func (w *Writer) Func(format string, args ...any) {
	w.Line(format, args...)
	w.Line("{")
	w.depth++
}

// EndFunc ends a function and writes a blank line.
func (w *Writer) EndFunc() {
	w.Close()
	w.Blank()
}

// Nested writes lines, each indented one step deeper than the one before: loops without braces, and their body.
func (w *Writer) Nested(lines ...string) {
	for _, line := range lines {
		w.Line("%s", line)
		w.depth++
	}
	w.depth -= len(lines)
}

// In indents one step deeper without a brace, for the body of a loop without braces. Out reverses it.
func (w *Writer) In() { w.depth++ }

// Out indents one step less.
func (w *Writer) Out() { w.depth-- }

// Text writes C text unchanged.
func (w *Writer) Text(text string) { w.b.WriteString(text) }

// Piece executes a template with data and writes the result.
func (w *Writer) Piece(p *Pieces, name string, data any) { p.write(&w.b, name, data) }

// String returns the text. It panics if a block is still open.
func (w *Writer) String() string {
	if w.depth != 0 {
		panic(fmt.Sprintf("cgen: the text ends at depth %d", w.depth))
	}
	return w.b.String()
}
