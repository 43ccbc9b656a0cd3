// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
)

// A journal is a file of records, each with its length and a checksum. A new file has the whole content; changes are
// appended. The file's length is in its header, so that a file that was cut off at the end of a record is not taken for a
// complete one.
const (
	// journalMagic ends with the version of the format, which is also the version of the records' schema.
	journalMagic      = "ANPSTOR1"
	journalHeaderSize = len(journalMagic) + 8 + 4
	recordHeaderSize  = 4 + 4
	// maxJournalSize bounds how much of a file is read, and thus the memory that a foreign file can take.
	maxJournalSize = 256 << 20
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

func journalHeader(length int64) []byte {
	header := binary.BigEndian.AppendUint64([]byte(journalMagic), uint64(length))
	return binary.BigEndian.AppendUint32(header, crc32.Checksum(header, checksums))
}

// appendRecord appends the record of a payload. Its checksum also covers its length.
func appendRecord(content, payload []byte) []byte {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	sum := crc32.Update(crc32.Checksum(length, checksums), checksums, payload)
	content = append(content, length...)
	content = binary.BigEndian.AppendUint32(content, sum)
	return append(content, payload...)
}

func encodeJournal(payloads ...[]byte) []byte {
	size := journalHeaderSize
	for _, p := range payloads {
		size += recordHeaderSize + len(p)
	}
	content := append(make([]byte, 0, size), journalHeader(int64(size))...)
	for _, p := range payloads {
		content = appendRecord(content, p)
	}
	return content
}

// nextRecord splits the first record from content.
func nextRecord(content []byte) (payload, rest []byte, err error) {
	if len(content) < recordHeaderSize {
		return nil, nil, fmt.Errorf("%d bytes are not a record, want at least %d", len(content), recordHeaderSize)
	}
	length := int64(binary.BigEndian.Uint32(content))
	if available := int64(len(content) - recordHeaderSize); length > available {
		return nil, nil, fmt.Errorf("a record ends early: has %d of %d bytes", available, length)
	}
	payload, rest = content[recordHeaderSize:recordHeaderSize+length], content[recordHeaderSize+length:]
	sum := crc32.Update(crc32.Checksum(content[:4], checksums), checksums, payload)
	if want := binary.BigEndian.Uint32(content[4:]); sum != want {
		return nil, nil, fmt.Errorf("a record of %d bytes has the checksum %#x, want %#x", length, sum, want)
	}
	return payload, rest, nil
}

// decodeJournal returns the payloads, which are slices of content. An agent that is killed between the two writes of an
// append leaves one complete record that the header does not count yet: it is returned with the others.
func decodeJournal(content []byte) ([][]byte, error) {
	if len(content) < journalHeaderSize {
		return nil, fmt.Errorf("the file has %d bytes, want at least %d", len(content), journalHeaderSize)
	}
	if magic := content[:len(journalMagic)]; string(magic) != journalMagic {
		return nil, fmt.Errorf("the file begins with %q, not with %q: it is of another program or version", magic, journalMagic)
	}
	length := binary.BigEndian.Uint64(content[len(journalMagic):])
	if string(content[:journalHeaderSize]) != string(journalHeader(int64(length))) {
		return nil, errors.New("the file's header has a wrong checksum")
	}
	if length < uint64(journalHeaderSize) || length > uint64(len(content)) {
		return nil, fmt.Errorf("the file has %d bytes, want %d", len(content), length)
	}
	counted, uncounted := content[journalHeaderSize:length], content[length:]
	var payloads [][]byte
	for len(counted) > 0 {
		payload, rest, err := nextRecord(counted)
		if err != nil {
			return nil, err
		}
		payloads, counted = append(payloads, payload), rest
	}
	if len(uncounted) > 0 {
		payload, rest, err := nextRecord(uncounted)
		if err != nil {
			return nil, fmt.Errorf("after the last change: %w", err)
		}
		if len(rest) > 0 {
			return nil, fmt.Errorf("the file has %d bytes that it does not count", len(uncounted))
		}
		payloads = append(payloads, payload)
	}
	return payloads, nil
}

// writeJournal replaces the file atomically: a reader sees the former content or the new one. It returns its size.
func writeJournal(path string, payloads ...[]byte) (int64, error) {
	content := encodeJournal(payloads...)
	if err := statefile.Replace(path, content); err != nil {
		return 0, err
	}
	return int64(len(content)), nil
}

// appendToJournal appends one record to a file of the given size, and returns the new size.
func appendToJournal(path string, size int64, payload []byte) (int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return size, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return size, err
	}
	if info.Size() != size {
		return size, fmt.Errorf("%s has %d bytes, want the %d that were written", path, info.Size(), size)
	}
	record := appendRecord(nil, payload)
	if _, err := f.WriteAt(record, size); err != nil {
		return size, err
	}
	size += int64(len(record))
	_, err = f.WriteAt(journalHeader(size), 0)
	return size, err
}

// readJournal returns the payloads of a file. It does not read a file that cannot be opened for writing: the file may be
// older than the last change, which could not be written.
func readJournal(path string) ([][]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: %v", path, info.Mode())
	}
	if info.Size() > maxJournalSize {
		return nil, fmt.Errorf("%s has %d bytes, want at most %d", path, info.Size(), maxJournalSize)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxJournalSize))
	if err != nil {
		return nil, err
	}
	return decodeJournal(content)
}
