// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
)

const (
	// parallelBundles bounds the load on this machine and on the Kubernetes API.
	parallelBundles = 8
	// bundleRequestLimit limits each request except the download, unless --timeout is set. bundleLimit limits the
	// collection of one component, which takes a minute at most.
	bundleRequestLimit = 15 * time.Second
	bundleLimit        = 10 * time.Minute
	bundlePoll         = 500 * time.Millisecond
	// progressInterval is the longest time without a line.
	progressInterval = 10 * time.Second
)

// bundleSource is a component.
type bundleSource struct {
	// name is for messages, component the name of the bundle at its API, file the name of the result.
	name, component, file string
	connect               func(context.Context) (*client, error)
	// logs are collected if the component does not answer; nil in its Pod.
	logs *podLogs
}

// bundleCollection collects from many components at once.
type bundleCollection struct {
	directory string
	since     time.Duration
	// limit bounds one request; 0 means bundleRequestLimit.
	limit    time.Duration
	progress *bundleProgress
}

// collect returns an error for each component of which there is no file.
func (c *bundleCollection) collect(ctx context.Context, sources []bundleSource) []error {
	defer c.progress.stop()
	failed := make([]error, len(sources))
	var group errgroup.Group
	group.SetLimit(parallelBundles)
	for i, source := range sources {
		group.Go(func() error {
			c.progress.begin(source.name)
			size, err := c.collectFrom(ctx, &source)
			if err != nil && source.logs != nil {
				err = c.collectLogs(ctx, &source, err)
			}
			c.progress.end(source.name, size, err)
			if err != nil {
				failed[i] = fmt.Errorf("%s: %w", source.name, err)
			}
			return nil
		})
	}
	_ = group.Wait()
	return slices.DeleteFunc(failed, func(err error) bool { return err == nil })
}

// collectLogs collects the logs of a component that could not collect for itself, and adds to the reason what became of them.
func (c *bundleCollection) collectLogs(ctx context.Context, source *bundleSource, reason error) error {
	file := strings.TrimSuffix(source.file, ".tar.gz") + "_logs.tar.gz"
	if _, err := source.logs.collect(ctx, c.directory, file, c.since); err != nil {
		return fmt.Errorf("%w; its logs could not be read from the Kubernetes API either: %w", reason, err)
	}
	return fmt.Errorf("%w; its logs are in %s", reason, file)
}

// collectFrom makes a component collect, and downloads the result.
func (c *bundleCollection) collectFrom(ctx context.Context, source *bundleSource) (size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, bundleLimit)
	defer cancel()
	component, err := c.connect(ctx, source)
	if err != nil {
		return 0, err
	}
	wanted := v1beta1.SupportBundle{}
	wanted.Kind, wanted.APIVersion, wanted.Name = v1beta1.SupportBundleKind, v1beta1.SchemeGroupVersion.String(), source.component
	if c.since > 0 {
		wanted.Since = c.since.String()
	}
	bundle, err := c.request(ctx, component, http.MethodPost, v1beta1.SupportBundlePath, &wanted)
	path := v1beta1.SupportBundlePath + "/" + source.component
	for err == nil && bundle.Status == v1beta1.SupportBundleStatusCollecting {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the bundle: %w", ctx.Err())
		case <-time.After(bundlePoll):
		}
		bundle, err = c.request(ctx, component, http.MethodGet, path, nil)
	}
	if err != nil {
		return 0, err
	}
	if bundle.Status != v1beta1.SupportBundleStatusCollected {
		return 0, fmt.Errorf("the bundle was removed while it was collected (status %s); try again", cmp.Or(bundle.Status, "none"))
	}
	err = writeFile(filepath.Join(c.directory, source.file), func(w io.Writer) error {
		sum := sha256.New()
		n, err := component.download(ctx, path+"/"+v1beta1.SupportBundleDownload, io.MultiWriter(w, sum))
		if err != nil {
			return err
		}
		if got := hex.EncodeToString(sum.Sum(nil)); n != int64(bundle.Size) || got != bundle.Sum {
			return fmt.Errorf("the download has %d bytes with SHA-256 %s; the component has %d bytes with %s", n, got, bundle.Size, bundle.Sum)
		}
		return nil
	})
	return int64(bundle.Size), err
}

func (c *bundleCollection) connect(ctx context.Context, source *bundleSource) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.limit, bundleRequestLimit))
	defer cancel()
	return source.connect(ctx)
}

func (c *bundleCollection) request(ctx context.Context, component *client, method, path string, object *v1beta1.SupportBundle) (*v1beta1.SupportBundle, error) {
	limit := cmp.Or(c.limit, bundleRequestLimit)
	requestCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var content []byte
	if object != nil {
		var err error
		if content, err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	body, err := component.send(requestCtx, method, path, nil, content)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("no answer within %v", limit)
	}
	if err != nil {
		return nil, err
	}
	var bundle v1beta1.SupportBundle
	if err := json.Unmarshal(body, &bundle); err != nil {
		return nil, fmt.Errorf("decoding the answer of %s: %w", path, err)
	}
	return &bundle, nil
}

// bundleProgress prints a line for each component that is done, and for those that are waited for.
type bundleProgress struct {
	out   io.Writer
	total int

	mu      sync.Mutex
	done    int
	pending map[string]time.Time
	ended   chan struct{}
	ticking sync.WaitGroup
}

func newBundleProgress(out io.Writer, total int) *bundleProgress {
	p := &bundleProgress{out: out, total: total, pending: map[string]time.Time{}, ended: make(chan struct{})}
	p.ticking.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-p.ended:
				return
			case <-tick.C:
				p.waiting()
			}
		}
	})
	return p
}

func (p *bundleProgress) waiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name := range p.pending {
		names = append(names, name)
	}
	slices.Sort(names)
	p.print("[%d/%d] waiting for %s", p.done, p.total, strings.Join(names, ", "))
}

func (p *bundleProgress) begin(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending[name] = time.Now()
}

func (p *bundleProgress) end(name string, size int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.pending[name]).Seconds()
	delete(p.pending, name)
	p.done++
	if err != nil {
		p.print("[%d/%d] %s: failed after %.1f s: %v", p.done, p.total, name, took, err)
		return
	}
	p.print("[%d/%d] %s: %d KiB in %.1f s", p.done, p.total, name, (size+1023)/1024, took)
}

func (p *bundleProgress) print(format string, args ...any) {
	// Names and errors come from servers.
	_, _ = fmt.Fprintln(p.out, strings.TrimSpace(cleanText(fmt.Sprintf(format, args...))))
}

func (p *bundleProgress) stop() {
	close(p.ended)
	p.ticking.Wait()
}
