// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/redact"
)

// Text is an item that is made at once.
func Text(name string, text func(context.Context) (string, error)) Item {
	return Item{Name: name, Collect: func(ctx context.Context, w io.Writer) error {
		content, err := text(ctx)
		_, writeErr := io.WriteString(w, content)
		return errors.Join(err, writeErr)
	}}
}

// Command is an item with what a program prints; errors are in the manifest with what the program says. A program that does not
// end in time is killed.
func Command(name, program string, args ...string) Item {
	return Item{Name: name, Collect: func(ctx context.Context, w io.Writer) error {
		cmd := exec.CommandContext(ctx, program, args...)
		// Children of a shell could keep the pipes open.
		cmd.WaitDelay = time.Second
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &limitedBuffer{to: &stderr, left: 4 << 10}
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
		}
		return nil
	}}
}

// limitedBuffer drops what does not fit.
type limitedBuffer struct {
	to   *bytes.Buffer
	left int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.to.Write(p[:n])
	l.left -= n
	return len(p), nil
}

// File is an item with the beginning of a file.
func File(name, path string) Item {
	return Item{Name: name, Collect: func(_ context.Context, w io.Writer) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(w, file)
		return err
	}}
}

// Process are the process's command line, its metrics, its heap (in the text form, which go tool pprof reads) and the stacks of its
// goroutines.
func Process() []Item {
	return []Item{
		Text("commandline", func(context.Context) (string, error) { return strings.Join(os.Args, "\n") + "\n", nil }),
		Route("metrics", "/metrics", nil, legacyregistry.Handler().ServeHTTP),
		{Name: "profiles/heap", Collect: func(_ context.Context, w io.Writer) error {
			// The profile is of the last completed collection of garbage.
			runtime.GC()
			return pprof.Lookup("heap").WriteTo(w, 1)
		}},
		{Name: "profiles/goroutines", Collect: func(_ context.Context, w io.Writer) error {
			return pprof.Lookup("goroutine").WriteTo(w, 2)
		}},
	}
}

// Route is an item with the answer of a path of the component's own API to GET, as YAML if it is JSON.
func Route(name, path string, query url.Values, handler http.HandlerFunc) Item {
	return Item{Name: name, Collect: func(ctx context.Context, w io.Writer) error {
		target := &url.URL{Path: path, RawQuery: query.Encode()}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		if err != nil {
			return err
		}
		a := &answer{header: http.Header{}, done: make(chan error, 1)}
		go a.get(handler, request)
		// A handler that does not end in time keeps its buffer until it does.
		select {
		case err = <-a.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		content := a.body.Bytes()
		if a.header.Get("Content-Type") == "application/json" {
			var object any
			// Numbers stay as they are.
			decoder := json.NewDecoder(&a.body)
			decoder.UseNumber()
			if err := decoder.Decode(&object); err != nil {
				return err
			}
			if content, err = yaml.Marshal(redact.Object(object)); err != nil {
				return err
			}
		}
		_, err = w.Write(content)
		return err
	}}
}

// answer takes the answer of a handler.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	done   chan error
}

func (a *answer) get(handler http.HandlerFunc, request *http.Request) {
	defer func() {
		if reason := recover(); reason != nil {
			a.done <- fmt.Errorf("GET %s panics: %v", request.URL, reason)
		}
	}()
	handler(a, request)
	if a.status != 0 && a.status != http.StatusOK {
		a.done <- fmt.Errorf("GET %s: %d %s", request.URL, a.status, strings.TrimSpace(a.body.String()))
		return
	}
	a.done <- nil
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// Routes are items with the answers of all paths that are not in except, below a directory.
func Routes(directory string, routes map[string]http.HandlerFunc, except ...string) []Item {
	var items []Item
	for path, handler := range routes {
		if !slices.Contains(except, path) {
			items = append(items, Route(directory+strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"), path, nil, handler))
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return items
}
