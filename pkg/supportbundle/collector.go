// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/version"
)

// keepFor is the time for which a bundle can be downloaded.
const keepFor = time.Hour

// Item is a file of the bundle. Directories in its name are separated by slashes.
type Item struct {
	Name string
	// Collect writes the content, as text, until ctx ends. Output before an error is kept.
	Collect func(ctx context.Context, w io.Writer) error
	// Asks is another program that Collect asks. After one item has waited for it in vain, the others have Limits.AfterTimeout each.
	Asks string
}

// Asking returns the items with the program that they ask.
func Asking(program string, items []Item) []Item {
	for i := range items {
		items[i].Asks = program
	}
	return items
}

// Config configures New.
type Config struct {
	// Component is the name of the bundle: agent or controller.
	Component string
	// Directory receives the bundle. It is made, and what is in it is deleted: it must be this collector's own. The directory above
	// must exist.
	Directory string
	// Items returns what to collect; log files that were not written to since then are left out. The zero time means all.
	Items func(since time.Time) []Item
	// Limits are DefaultLimits where they are zero.
	Limits Limits
}

// Collector makes bundles of one component, one at a time, and keeps the last one for an hour.
type Collector struct {
	config Config

	mu sync.Mutex
	// bundle is the last one, or the one being collected.
	bundle bundle
}

type bundle struct {
	status v1beta1.BundleStatus
	// since is as the client gave it.
	since   string
	started time.Time
	failure error

	file, sum string
	size      int64
	// cancel ends the collection, or the time until the bundle is removed; it does nothing after that.
	cancel func()
	// done is closed when nothing is collected any more.
	done chan struct{}
}

// New removes what an earlier process has left in the directory. When ctx ends the bundle is removed.
func New(ctx context.Context, config Config) (*Collector, error) {
	if config.Limits == (Limits{}) {
		config.Limits = DefaultLimits
	}
	if err := os.RemoveAll(config.Directory); err != nil {
		return nil, fmt.Errorf("removing old support bundles: %w", err)
	}
	c := &Collector{config: config, bundle: bundle{status: v1beta1.SupportBundleStatusNone}}
	context.AfterFunc(ctx, c.Delete)
	return c, nil
}

// errBusy is the error of Start while another bundle is being collected.
var errBusy = errors.New("another support bundle is being collected")

// Start begins to collect a bundle and returns its state. While one with the same since is being collected, that one is the
// answer. Any former bundle is removed.
func (c *Collector) Start(since string) (v1beta1.SupportBundle, error) {
	var from time.Time
	if since != "" {
		age, err := time.ParseDuration(since)
		if err != nil || age <= 0 {
			return v1beta1.SupportBundle{}, fmt.Errorf("since: %q is not a duration; allowed: for example 30m or 2h", since)
		}
		from = time.Now().Add(-age)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bundle.status == v1beta1.SupportBundleStatusCollecting {
		if c.bundle.since != since {
			return v1beta1.SupportBundle{}, fmt.Errorf("%w since %s, with since=%q; delete it or try again when it is there",
				errBusy, c.bundle.started.UTC().Format(time.RFC3339), c.bundle.since)
		}
		return c.state(), nil
	}
	c.remove()
	ctx, cancel := context.WithTimeout(context.Background(), c.config.Limits.Time)
	c.bundle = bundle{status: v1beta1.SupportBundleStatusCollecting, since: since, started: time.Now(), cancel: cancel, done: make(chan struct{})}
	go c.run(ctx, cancel, c.bundle.done, since, from)
	return c.state(), nil
}

// run collects and records the result, unless Delete has come first.
func (c *Collector) run(ctx context.Context, cancel func(), done chan struct{}, since string, from time.Time) {
	defer close(done)
	defer cancel()
	klog.InfoS("Collecting a support bundle", "since", since)
	file, sum, size, err := c.collect(ctx, since, from)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bundle.done != done {
		_ = os.Remove(file)
		return
	}
	b := &c.bundle
	if err != nil {
		klog.ErrorS(err, "Could not collect a support bundle")
		b.status, b.failure = v1beta1.SupportBundleStatusNone, err
		return
	}
	klog.InfoS("Collected a support bundle", "file", file, "bytes", size, "duration", time.Since(b.started).Round(time.Millisecond))
	b.status, b.file, b.sum, b.size = v1beta1.SupportBundleStatusCollected, file, sum, size
	expiry := time.AfterFunc(keepFor, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.bundle.done == done {
			c.remove()
		}
	})
	b.cancel = func() { expiry.Stop() }
}

// collect makes the archive under a temporary name and renames it when it is complete.
func (c *Collector) collect(ctx context.Context, since string, from time.Time) (file, sum string, size int64, err error) {
	directory := c.config.Directory
	if err := makePrivate(directory); err != nil {
		return "", "", 0, err
	}
	partial, err := os.CreateTemp(directory, ".bundle-") // mode 0600
	if err != nil {
		return "", "", 0, fmt.Errorf("making a support bundle: %w", err)
	}
	defer os.Remove(partial.Name())
	defer partial.Close()
	spoolFile, err := os.CreateTemp(directory, ".file-")
	if err != nil {
		return "", "", 0, fmt.Errorf("making a support bundle: %w", err)
	}
	defer os.Remove(spoolFile.Name())
	defer spoolFile.Close()

	a := newArchive(partial, spoolFile, c.config.Limits, time.Now)
	a.manifest = manifest{Component: c.config.Component, Version: version.GetFullVersion(), Collected: time.Now().UTC().Format(time.RFC3339), Since: since}
	for _, item := range c.config.Items(from) {
		if errors.Is(ctx.Err(), context.Canceled) {
			return "", "", 0, ctx.Err()
		}
		if err := a.add(ctx, item); err != nil {
			return "", "", 0, err
		}
	}
	if sum, size, err = a.finish(); err != nil {
		return "", "", 0, err
	}
	if size > math.MaxUint32 {
		return "", "", 0, fmt.Errorf("the support bundle is too large: %d bytes", size)
	}
	if err := partial.Close(); err != nil {
		return "", "", 0, fmt.Errorf("writing %s: %w", partial.Name(), err)
	}
	file = filepath.Join(directory, fmt.Sprintf("%s-%s.tar.gz", c.config.Component, sum[:12]))
	if err := os.Rename(partial.Name(), file); err != nil {
		return "", "", 0, fmt.Errorf("finishing a support bundle: %w", err)
	}
	return file, sum, size, nil
}

// makePrivate makes a directory that only this user can read. Where all users may make directories, another user may
// have made one of this name.
func makePrivate(directory string) error {
	err := os.Mkdir(directory, 0o700)
	if !errors.Is(err, os.ErrExist) {
		if err != nil {
			err = fmt.Errorf("making the directory of support bundles: %w", err)
		}
		return err
	}
	info, err := os.Lstat(directory)
	if err != nil {
		return fmt.Errorf("making the directory of support bundles: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("directory of support bundles: %s must be a directory of this user with mode 0700, not %s; remove it", directory, info.Mode())
	}
	return nil
}

// State returns how far the bundle is, and why the last collection failed.
func (c *Collector) State() (v1beta1.SupportBundle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(), c.bundle.failure
}

func (c *Collector) state() v1beta1.SupportBundle {
	b := v1beta1.SupportBundle{
		TypeMeta: metav1.TypeMeta{Kind: v1beta1.SupportBundleKind, APIVersion: v1beta1.SchemeGroupVersion.String()},
		Status:   c.bundle.status, Since: c.bundle.since, Sum: c.bundle.sum, Size: uint32(c.bundle.size),
	}
	b.Name = c.config.Component
	return b
}

// Open opens the bundle; nil without an error means that none has been collected. Deleting the bundle meanwhile does no harm.
func (c *Collector) Open() (file *os.File, sum string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bundle.status != v1beta1.SupportBundleStatusCollected {
		return nil, "", nil
	}
	if file, err = os.Open(c.bundle.file); err != nil {
		return nil, "", fmt.Errorf("opening the support bundle: %w", err)
	}
	return file, c.bundle.sum, nil
}

// Delete removes the bundle, or ends its collection.
func (c *Collector) Delete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove()
}

// remove is Delete for a caller that holds the lock.
func (c *Collector) remove() {
	if c.bundle.cancel != nil {
		c.bundle.cancel()
	}
	if c.bundle.file != "" {
		if err := os.Remove(c.bundle.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			klog.ErrorS(err, "Could not remove a support bundle")
		}
	}
	c.bundle = bundle{status: v1beta1.SupportBundleStatusNone}
}
