// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/redact"
)

// Limits bound the cost of one bundle. Sizes are before compression.
type Limits struct {
	// Bundle limits the size of all files together, File the size of each.
	Bundle, File int64
	// Time limits the collection, ItemTime each item, AfterTimeout an item that asks a program that has not answered in
	// time.
	Time, ItemTime, AfterTimeout time.Duration
}

// DefaultLimits keep a bundle small enough to be sent by mail: text is compressed to about a tenth. Antrea's own tests wait for a
// minute.
var DefaultLimits = Limits{Bundle: 256 << 20, File: 32 << 20, Time: 50 * time.Second, ItemTime: 15 * time.Second, AfterTimeout: 2 * time.Second}

// manifestName is the file that says what a bundle has and lacks.
const manifestName = "manifest.yaml"

// entry is a line of the manifest.
type entry struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Truncated is set when the limit on the size cut the file.
	Truncated bool   `json:"truncated,omitempty"`
	Error     string `json:"error,omitempty"`
	Seconds   string `json:"seconds"`
}

// manifest is the content of the file manifest.yaml.
type manifest struct {
	Component string  `json:"component"`
	Version   string  `json:"version"`
	Collected string  `json:"collected"`
	Since     string  `json:"since,omitempty"`
	Files     []entry `json:"files"`
}

// archive writes a bundle.
type archive struct {
	limits Limits
	now    func() time.Time
	tar    *tar.Writer
	gzip   *gzip.Writer
	sum    hash.Hash
	size   counter
	spool  *spool
	used   int64
	// silent are the programs that have not answered in time.
	silent   map[string]bool
	manifest manifest
}

func newArchive(to io.Writer, spoolFile *os.File, limits Limits, now func() time.Time) *archive {
	a := &archive{limits: limits, now: now, sum: sha256.New(), spool: &spool{file: spoolFile}, silent: map[string]bool{}}
	// The CPU time is the Node's; the best compression would save little.
	a.gzip, _ = gzip.NewWriterLevel(io.MultiWriter(to, a.sum, &a.size), gzip.BestSpeed)
	a.tar = tar.NewWriter(a.gzip)
	return a
}

// add writes one file with the output of an item. The returned error is the archive's; the item's error is in the
// manifest.
func (a *archive) add(ctx context.Context, item Item) error {
	begin := a.now()
	line := entry{Name: item.Name}
	limit := min(a.limits.File, a.limits.Bundle-a.used)
	switch {
	case ctx.Err() != nil:
		line.Error = "not collected: the time for the whole bundle has passed"
	case limit <= 0:
		line.Error = "not collected: the bundle is full"
	default:
		ctx, cancel := context.WithTimeout(ctx, a.timeFor(item))
		defer cancel()
		if err := a.spool.begin(limit); err != nil {
			return err
		}
		err := collectWithin(ctx, item.Collect, a.spool)
		if item.Asks != "" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.silent[item.Asks] = true
		}
		if err = errors.Join(err, a.spool.end()); a.spool.broken != nil {
			return a.spool.broken
		}
		if line.Truncated = errors.Is(err, errFull) || a.spool.full; line.Truncated {
			err = nil
		}
		if err != nil {
			line.Error = string(redact.Text([]byte(err.Error())))
		}
		line.Bytes = a.spool.size
		if err := a.copySpool(item.Name); err != nil {
			return err
		}
	}
	line.Seconds = fmt.Sprintf("%.2f", a.now().Sub(begin).Seconds())
	a.manifest.Files = append(a.manifest.Files, line)
	return nil
}

func (a *archive) timeFor(item Item) time.Duration {
	if a.silent[item.Asks] {
		return a.limits.AfterTimeout
	}
	return a.limits.ItemTime
}

// copySpool moves the spooled file into the archive. Empty files are left out; the manifest has them.
func (a *archive) copySpool(name string) error {
	if a.spool.size == 0 {
		return nil
	}
	a.used += a.spool.size
	content, err := a.spool.content()
	if err != nil {
		return err
	}
	return a.write(name, a.spool.size, content)
}

func (a *archive) write(name string, size int64, content io.Reader) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: a.now()}); err != nil {
		return fmt.Errorf("writing %s into the bundle: %w", name, err)
	}
	if _, err := io.Copy(a.tar, content); err != nil {
		return fmt.Errorf("writing %s into the bundle: %w", name, err)
	}
	return nil
}

// finish writes the manifest and the end of the archive, and returns its checksum and size.
func (a *archive) finish() (sum string, size int64, err error) {
	text, err := yaml.Marshal(a.manifest)
	if err != nil {
		return "", 0, fmt.Errorf("encoding the bundle's manifest: %w", err)
	}
	if err := a.spool.begin(int64(len(text)) + a.limits.File); err != nil {
		return "", 0, err
	}
	if _, err := a.spool.Write(text); err != nil {
		return "", 0, err
	}
	if err := a.spool.end(); err != nil {
		return "", 0, err
	}
	if err := a.copySpool(manifestName); err != nil {
		return "", 0, err
	}
	if err := errors.Join(a.tar.Close(), a.gzip.Close()); err != nil {
		return "", 0, fmt.Errorf("writing the end of the bundle: %w", err)
	}
	return hex.EncodeToString(a.sum.Sum(nil)), int64(a.size), nil
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
