package results

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"tune/space"
)

// format is a way to write records as lines.
type format interface {
	// number is that in the header.
	number() int
	// unseal returns the record's part of a line without its newline, and whether the checksum is right.
	unseal(line []byte) (payload []byte, ok bool)
	// decode reads what unseal returned.
	decode(payload []byte, r *record) error
	// encode appends the lines of a record, each with its newline, and says how many they are.
	encode(buf []byte, r *record) (_ []byte, lines int, err error)
	// keep says that what encode returned last was written.
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

// formatOf returns the format of a journal by what its first line begins with.
func formatOf(first []byte) format {
	if len(first) > 0 && first[0] == '{' {
		return newFormat(newestFormat)
	}
	return newFormat(1)
}

// couldBegin reports whether data could be what is left of a first line whose write was cut off. It keeps
// OpenJournal from taking, and truncating, any other file for a journal.
func couldBegin(data []byte) bool {
	is := func(opening string) bool {
		n := min(len(data), len(opening))
		return string(data[:n]) == opening[:n]
	}
	return is(lineOpening) || couldBeSealed(data)
}

// unknownFormat is the error of a journal of another version of tune.
func unknownFormat(number int) error {
	return fmt.Errorf("journal format %d is not known to this tune, which reads formats 1 and %d", number, newestFormat)
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

// hasCost reports whether an outcome has a cost to keep: 0, and even -0, read back as they were.
func hasCost(o *space.Outcome) bool {
	return o.Status == space.OK || o.Cost != 0 || 1/o.Cost < 0
}
