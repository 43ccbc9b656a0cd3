// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/antrea-oncache/antrea/pkg/redact"
)

// errFull ends the collection of a file that has reached its limit.
var errFull = errors.New("the limit on the size is reached")

// spool is the file of the bundle that is being collected, without secrets: an archive must know its size first. It uses the
// same file on the disk for all.
type spool struct {
	file *os.File

	size, limit int64
	full        bool
	// broken is the error of the disk.
	broken error
	buffer *bufio.Writer
	clean  *redact.Writer
}

func (s *spool) begin(limit int64) error {
	s.size, s.limit, s.full, s.broken = 0, limit, false, nil
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("writing %s: %w", s.file.Name(), err)
	}
	if err := s.file.Truncate(0); err != nil {
		return fmt.Errorf("emptying %s: %w", s.file.Name(), err)
	}
	s.buffer = bufio.NewWriterSize(s.file, 64<<10)
	s.clean = redact.NewWriter(limited{s})
	return nil
}

// Write takes text. It fails with errFull at the limit.
func (s *spool) Write(p []byte) (int, error) { return s.clean.Write(p) }

// limited is behind the redactor.
type limited struct{ *spool }

func (l limited) Write(p []byte) (int, error) {
	s := l.spool
	if s.full {
		return 0, errFull
	}
	room := s.limit - s.size
	n, err := s.buffer.Write(p[:min(int64(len(p)), room)])
	s.size += int64(n)
	if err != nil {
		s.broken = fmt.Errorf("writing %s: %w", s.file.Name(), err)
		return n, s.broken
	}
	if int64(len(p)) > room {
		s.full = true
		return n, errFull
	}
	return n, nil
}

func (s *spool) end() error {
	err := s.clean.Flush()
	if flushErr := s.buffer.Flush(); flushErr != nil && s.broken == nil {
		s.broken = fmt.Errorf("writing %s: %w", s.file.Name(), flushErr)
	}
	return err
}

func (s *spool) content() (io.Reader, error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.file.Name(), err)
	}
	return io.LimitReader(s.file, s.size), nil
}
