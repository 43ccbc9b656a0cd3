// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The log begins a new file when it is full, compresses old ones, and keeps as many as it should.
func TestRotation(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "networkpolicy")
	file := openFile(directory, Rotation{MaxSize: 1, MaxBackups: 1, MaxAge: 1, Compress: true})
	require.NoDirExists(t, directory, "nothing was logged")
	o := &output{Writer: file}
	half := strings.Repeat("x", 600<<10)
	for _, line := range []string{"first", "second", "third"} {
		o.write(line + half)
	}
	require.NoError(t, file.Close())
	require.Zero(t, o.lost)
	content, err := os.ReadFile(filepath.Join(directory, FileName))
	require.NoError(t, err)
	require.Equal(t, "third"+half+"\n", string(content))
	var old []string
	require.Eventually(t, func() bool {
		old, err = filepath.Glob(filepath.Join(directory, "np-*"))
		return err == nil && len(old) == 1 && strings.HasSuffix(old[0], ".log.gz")
	}, 20*time.Second, 10*time.Millisecond)
	compressed, err := os.Open(old[0])
	require.NoError(t, err)
	defer func() { require.NoError(t, compressed.Close()) }()
	unzipped, err := gzip.NewReader(compressed)
	require.NoError(t, err)
	content, err = io.ReadAll(unzipped)
	require.NoError(t, err)
	require.Equal(t, "second"+half+"\n", string(content))
}

// disk is full or not.
type disk struct {
	strings.Builder
	full bool
}

func (d *disk) Write(b []byte) (int, error) {
	if d.full {
		return 0, errors.New("no space left on device")
	}
	return d.Builder.Write(b)
}

func TestOutputOutlastsAFullDisk(t *testing.T) {
	d := &disk{}
	o := &output{Writer: d}
	o.write("a")
	d.full = true
	o.write("b")
	o.write("c")
	require.Equal(t, 2, o.lost)
	d.full = false
	o.write("d")
	require.Zero(t, o.lost)
	require.Equal(t, "a\nd\n", d.String())
}
