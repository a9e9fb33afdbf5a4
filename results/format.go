package results

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"tune/space"
)

// format is an encoding of records as lines.
type format interface {
	// number is the number of the format in the header.
	number() int
	// unseal returns the record in a line, without its newline, and whether the checksum is right.
	unseal(line []byte) (payload []byte, ok bool)
	// decode decodes what unseal returned.
	decode(payload []byte, r *record) error
	// encode appends the lines of a record, each with its newline, and returns their number.
	encode(buf []byte, r *record) (_ []byte, lines int, err error)
	// keep confirms that the last result of encode was written.
	keep()
}

// newestFormat is the format of new journals.
const newestFormat = 2

func newFormat(number int) format {
	if number == 1 {
		return sealedFormat{}
	}
	return &lineFormat{known: make(map[string]int)}
}

// formatOf returns the format of a journal from the start of its first line.
func formatOf(first []byte) format {
	if len(first) > 0 && first[0] == '{' {
		return newFormat(newestFormat)
	}
	return newFormat(1)
}

// couldBegin reports whether data could be the rest of a first line whose write was cut off. This check keeps OpenJournal from
// truncating a file that is no journal.
func couldBegin(data []byte) bool {
	is := func(opening string) bool {
		n := min(len(data), len(opening))
		return string(data[:n]) == opening[:n]
	}
	return is(lineOpening) || couldBeSealed(data)
}

// unknownFormat is the error for a journal of another version of tune.
func unknownFormat(number int) error {
	return fmt.Errorf("journal format %d is not known to this tune, which reads formats 1 and %d: use the tune that wrote it", number, newestFormat)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendChecksum appends the CRC-32C of data in eight hexadecimal digits.
func appendChecksum(buf, data []byte) []byte {
	sum := crc32.Checksum(data, castagnoli)
	return hex.AppendEncode(buf, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// isChecksum reports whether text is the checksum of data.
func isChecksum(text, data []byte) bool {
	var want [8]byte
	return bytes.Equal(text, appendChecksum(want[:0], data))
}

func tooLong(line []byte) error {
	if len(line) > maxLine {
		return fmt.Errorf("a record of %d bytes is longer than the %d that a journal line may have", len(line), maxLine)
	}
	return nil
}

// hasCost reports whether an outcome has a cost to store: 0, and even -0, must read back unchanged.
func hasCost(o *space.Outcome) bool {
	return o.Status == space.OK || o.Cost != 0 || 1/o.Cost < 0
}
