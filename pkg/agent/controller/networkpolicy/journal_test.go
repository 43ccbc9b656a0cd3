// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// No damaged file is accepted: not with one wrong bit, cut off anywhere, or with anything appended.
func TestDecodeJournal(t *testing.T) {
	payloads := [][]byte{[]byte("first"), {}, []byte("the third")}
	whole := encodeJournal(payloads...)
	got, err := decodeJournal(whole)
	require.NoError(t, err)
	require.Equal(t, payloads, got)

	for bit := range len(whole) * 8 {
		flipped := slices.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		_, err := decodeJournal(flipped)
		require.Error(t, err, "bit %d", bit)
	}
	for length := range len(whole) {
		_, err := decodeJournal(whole[:length])
		require.Error(t, err, "the first %d bytes", length)
	}
	// The header is written after the record, so there may be one complete record that it does not count.
	last := appendRecord(nil, []byte("the last"))
	got, err = decodeJournal(append(slices.Clone(whole), last...))
	require.NoError(t, err)
	require.Equal(t, append(slices.Clone(payloads), []byte("the last")), got)
	for length := 1; length < len(last); length++ {
		_, err := decodeJournal(append(slices.Clone(whole), last[:length]...))
		require.Error(t, err, "%d bytes of a record that is not counted", length)
	}
	_, err = decodeJournal(slices.Concat(whole, last, last))
	require.ErrorContains(t, err, "bytes that it does not count")
}

func TestReadJournal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	size, err := writeJournal(path, []byte("first"))
	require.NoError(t, err)
	size, err = appendToJournal(path, size, []byte("second"))
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, info.Size(), size)
	payloads, err := readJournal(path)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("first"), []byte("second")}, payloads)

	_, err = appendToJournal(path, size-1, []byte("third"))
	require.ErrorContains(t, err, "bytes, want the")
	require.NoError(t, os.Truncate(path, maxJournalSize+1))
	_, err = readJournal(path)
	require.ErrorContains(t, err, "bytes, want at most")

	// A path that is not a file is not even opened: opening a pipe would not return.
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	_, err = readJournal(pipe)
	require.ErrorContains(t, err, "is not a file")
}
