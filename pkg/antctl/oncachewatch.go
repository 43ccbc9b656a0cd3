// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/antrea-oncache/antrea/pkg/antctl/watch"
)

const (
	// shortestInterval protects the agent: an answer costs it a walk through all flows.
	shortestInterval = 500 * time.Millisecond
	// samplePatience limits the time of one answer without --timeout.
	samplePatience = 10 * time.Second
	// watchedFlows is the number of flows with the most packets to ask for. The busiest flows of the moment are among
	// them.
	watchedFlows = "500"
	// headingEvery is the number of lines between two headings.
	headingEvery = 20

	clearScreen, hideCursor, showCursor = "\x1b[2J", "\x1b[?25l", "\x1b[?25h"
	home, clearLine, clearRest          = "\x1b[H", "\x1b[K", "\x1b[J"
	bold, plain                         = "\x1b[1m", "\x1b[0m"
)

// addWatch gives the command that prints the cache's state the flag --watch.
func addWatch(cmd *cobra.Command, d *Definition, s *session) {
	on := cmd.Flags().BoolP("watch", "w", false, "Print rates, the busiest flows and their history until Ctrl-C; without a view")
	interval := cmd.Flags().Duration("interval", 2*time.Second, "Time between two samples of --watch")
	once := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !*on && cmd.Flags().Changed("interval"):
			return errors.New("--interval needs --watch")
		case !*on:
			return once(cmd, args)
		case len(args) > 0:
			return fmt.Errorf("--watch has no views: leave %q out", args[0])
		case cmd.Flags().Changed("output"):
			return errors.New("--watch is for people: it has no --output")
		case *interval < shortestInterval:
			return fmt.Errorf("--interval %s: must be at least %s", *interval, shortestInterval)
		}
		query, err := d.query(cmd, nil)
		if err != nil {
			return err
		}
		query.Set("view", "flows")
		if !query.Has("limit") {
			query.Set("limit", watchedFlows)
		}
		sampler := &sampler{session: s, endpoint: d.Agent, flows: query}
		if err := watchCache(cmd.Context(), sampler.sample, *interval, newCanvas(cmd.OutOrStdout())); err != nil {
			return cleanError{err}
		}
		return nil
	}
}

// watchCache draws samples until ctx ends. Only an error of the first one is returned: the agent may be gone for a while.
func watchCache(ctx context.Context, sample func(context.Context) watch.Sample, interval time.Duration, c *canvas) error {
	w := &watch.Watch{Interval: interval, ASCII: c.ascii}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	c.begin()
	defer c.end()
	for first := true; ; first = false {
		s := sample(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if first && s.Err != nil {
			return s.Err
		}
		w.Add(s)
		if err := c.draw(w); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sampler asks the agent, over one connection as long as that works.
type sampler struct {
	session  *session
	endpoint *Endpoint
	// flows is the query for the flows.
	flows  url.Values
	client *client
}

func (s *sampler) sample(ctx context.Context) (sample watch.Sample) {
	patience := samplePatience
	if s.session.conn.timeout > 0 {
		patience = s.session.conn.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.client == nil {
		// The agent makes a new token when it starts.
		if s.client, sample.Err = s.session.client(ctx, s.endpoint); sample.Err != nil {
			s.client = nil
			sample.Time = time.Now()
			return sample
		}
	}
	sample.Time = time.Now()
	if sample.Err = s.ask(ctx, nil, &sample.Status); sample.Err == nil {
		sample.Err = s.ask(ctx, s.flows, &sample.Flows)
	}
	if sample.Err != nil {
		s.client.http.CloseIdleConnections()
		s.client = nil
	}
	return sample
}

func (s *sampler) ask(ctx context.Context, query url.Values, answer any) error {
	body, err := s.client.do(ctx, http.MethodGet, s.endpoint.Path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("decoding the server's answer: %w", err)
	}
	return nil
}

// canvas is the output of a watch: a terminal, which is redrawn, or anything else, which gets one line per sample.
type canvas struct {
	out io.Writer
	// size returns the size of the terminal; nil for anything else.
	size  func() (width, height int, err error)
	ascii bool
	lines int
}

func newCanvas(out io.Writer) *canvas {
	c := &canvas{out: out, ascii: !speaksUTF8()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		c.size = func() (int, int, error) { return term.GetSize(int(f.Fd())) }
	}
	return c
}

// speaksUTF8 is true unless the locale says otherwise: containers have none.
func speaksUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			return strings.Contains(strings.ToLower(strings.ReplaceAll(locale, "-", "")), "utf8")
		}
	}
	return true
}

func (c *canvas) begin() {
	if c.size != nil {
		_, _ = io.WriteString(c.out, hideCursor+clearScreen)
	}
}

func (c *canvas) end() {
	if c.size != nil {
		_, _ = io.WriteString(c.out, showCursor+"\n")
	}
}

func (c *canvas) draw(w *watch.Watch) error {
	var b strings.Builder
	if c.size == nil {
		if c.lines%headingEvery == 0 {
			b.WriteString(watch.Heading() + "\n")
		}
		c.lines++
		b.WriteString(clean(w.Row()) + "\n")
	} else {
		c.screen(&b, w)
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

func (c *canvas) screen(b *strings.Builder, w *watch.Watch) {
	width, height, err := c.size()
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	b.WriteString(home)
	// The last line stays free for the cursor.
	for _, line := range w.Screen(width, height-1) {
		text := clean(line.Text)
		if line.Strong {
			text = bold + text + plain
		}
		b.WriteString(text + clearLine + "\n")
	}
	b.WriteString(clearRest)
}
