package user

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"tune/kernels"
)

// room is what must be free where candidates write: where it is not, a failure says nothing of the candidate.
const room = 1 << 20

// blame returns an error of a candidate, or if the disk is full that instead. A candidate that has filled it itself is to blame, and gives
// the room back.
func (s *scratch) blame(c *commandCandidate, err error) error {
	if kernels.AsRejection(err) == nil || s.full() == nil {
		return err
	}
	s.mu.Lock()
	if !s.busy[c] {
		s.drop(c)
	}
	s.mu.Unlock()
	if full := s.full(); full != nil {
		return fmt.Errorf("%v, while the disk was full: %w", err, full) // no rejection any more
	}
	return err
}

// full returns the error of writing to a disk that has no room; nil where it has.
func (s *scratch) full() error {
	s.mu.Lock()
	root := s.root
	s.mu.Unlock()
	if root == "" {
		return nil
	}
	file, err := os.CreateTemp(root, "room-")
	if err == nil {
		_, err = file.Write(make([]byte, room))
		if cerr := file.Close(); err == nil {
			err = cerr
		}
		_ = os.Remove(file.Name()) // or it goes with the rest
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return nil
}
