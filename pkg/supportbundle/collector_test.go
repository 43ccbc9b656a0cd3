// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/supportbundle/bundletest"
)

// server is the API of a collector.
type server struct {
	t         *testing.T
	mux       *http.ServeMux
	directory string
}

func newServer(t *testing.T, config Config) *server {
	config.Component, config.Directory = "agent", filepath.Join(t.TempDir(), "bundles")
	c, err := New(t.Context(), config)
	require.NoError(t, err)
	s := &server{t: t, mux: http.NewServeMux(), directory: config.Directory}
	for path, handler := range c.Handlers() {
		s.mux.Handle(path, handler)
	}
	t.Cleanup(c.Delete)
	return s
}

func (s *server) do(method, path, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	s.mux.ServeHTTP(answer, httptest.NewRequest(method, v1beta1.SupportBundlePath+path, strings.NewReader(body)))
	return answer
}

func (s *server) bundle(method, path, body string, code int) v1beta1.SupportBundle {
	s.t.Helper()
	answer := s.do(method, path, body)
	require.Equal(s.t, code, answer.Code, answer.Body)
	var bundle v1beta1.SupportBundle
	require.NoError(s.t, json.Unmarshal(answer.Body.Bytes(), &bundle))
	return bundle
}

const start = `{"kind":"SupportBundle","apiVersion":"system.antrea.io/v1beta1","metadata":{"name":"agent"}}`

// collected waits until there is a bundle, downloads it and returns its files.
func (s *server) collected() map[string]string {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.bundle("GET", "/agent", "", 200).Status == v1beta1.SupportBundleStatusCollected }, patience, time.Millisecond)
	bundle := s.bundle("GET", "/agent", "", 200)
	answer := s.do("GET", "/agent/download", "")
	require.Equal(s.t, 200, answer.Code, answer.Body)
	sum := sha256.Sum256(answer.Body.Bytes())
	require.Equal(s.t, hex.EncodeToString(sum[:]), bundle.Sum)
	require.EqualValues(s.t, answer.Body.Len(), bundle.Size)
	return bundletest.Unpack(s.t, answer.Body)
}

// patience limits the time of a collection that does not hang.
const patience = 3 * time.Minute

func fixed(items ...Item) func(time.Time) []Item { return func(time.Time) []Item { return items } }

func text(name, content string) Item {
	return Text(name, func(context.Context) (string, error) { return content, nil })
}

// files returns the names of the bundles. One that is removed while they are listed is not among them.
func files(t *testing.T, directory string) (names []string) {
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
		names = append(names, e.Name())
	}
	return names
}

func TestBundle(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, Config{Items: fixed(
		text("flows", "table=0\n"),
		Item{Name: "waits", Collect: func(ctx context.Context, w io.Writer) error {
			<-release
			_, err := io.WriteString(w, "password=hunter2\n")
			return err
		}},
		Item{Name: "fails", Collect: func(context.Context, io.Writer) error { return errors.New("no such thing, token=hunter2") }},
		Command("absent", "/nonexistent/program"),
		Command("echo", "echo", "said"),
		Command("complains", "sh", "-c", "echo half; echo why >&2; exit 3"),
		Route("yaml", "/x", nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"a":12345678901234567890,"args":["--password","hunter2"]}`)
		}),
		Route("refused", "/y", nil, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "oncache is not enabled", http.StatusServiceUnavailable)
		}),
		Route("panics", "/z", nil, func(http.ResponseWriter, *http.Request) { panic("at the disco") }),
	)})
	require.Equal(t, v1beta1.SupportBundleStatusNone, s.bundle("GET", "/agent", "", 200).Status)
	require.Equal(t, 404, s.do("GET", "/agent/download", "").Code)

	bundle := s.bundle("POST", "", start, 201)
	require.Equal(t, v1beta1.SupportBundleStatusCollecting, bundle.Status)
	require.Equal(t, "agent", bundle.Name)
	require.Equal(t, "SupportBundle", bundle.Kind)
	require.Equal(t, "system.antrea.io/v1beta1", bundle.APIVersion)
	require.Equal(t, v1beta1.SupportBundleStatusCollecting, s.bundle("POST", "", start, 201).Status, "a second client shares the bundle")
	require.Contains(t, s.do("POST", "", `{"metadata":{"name":"agent"},"since":"2h"}`).Body.String(), "another support bundle is being collected since")
	require.Equal(t, 404, s.do("GET", "/agent/download", "").Code, "half a bundle")
	close(release)

	got := s.collected()
	require.Equal(t, "table=0\n", got["flows"])
	require.Equal(t, "password=<redacted>\n", got["waits"])
	require.Equal(t, "said\n", got["echo"])
	require.Equal(t, "half\n", got["complains"], "what there was before the error")
	require.Equal(t, "a: 12345678901234567890\nargs:\n- --password\n- <redacted>\n", got["yaml"])
	require.NotContains(t, got, "fails")
	var m manifest
	require.NoError(t, yaml.Unmarshal([]byte(got[manifestName]), &m))
	errs := map[string]string{}
	for _, f := range m.Files {
		errs[f.Name] = f.Error
	}
	require.Equal(t, "no such thing, token=<redacted>", errs["fails"])
	require.Contains(t, errs["absent"], "/nonexistent/program")
	require.Contains(t, errs["complains"], "exit status 3: why")
	require.Equal(t, "GET /y: 503 oncache is not enabled", errs["refused"])
	require.Equal(t, "GET /z panics: at the disco", errs["panics"])
	require.Empty(t, errs["flows"])
	require.Len(t, files(t, s.directory), 1)

	// The next bundle replaces this one.
	s.bundle("POST", "", start, 201)
	s.collected()
	require.Len(t, files(t, s.directory), 1)
	require.Equal(t, 200, s.do("DELETE", "/agent", "").Code)
	require.Empty(t, files(t, s.directory))
	require.Equal(t, v1beta1.SupportBundleStatusNone, s.bundle("GET", "/agent", "", 200).Status)
}

func TestLimits(t *testing.T) {
	big := strings.Repeat("0123456789\n", 1000)
	s := newServer(t, Config{
		// On a busy machine the program takes its time to write as much as there is room for.
		Limits: Limits{Bundle: 12_000, File: 10_000, Time: patience, ItemTime: patience},
		Items:  fixed(text("big", big), Command("endless", "sh", "-c", "while :; do echo more; done"), text("no room", "x")),
	})
	s.bundle("POST", "", start, 201)
	got := s.collected()
	require.Equal(t, big[:10_000], got["big"])
	require.Len(t, got["endless"], 2_000)
	require.NotContains(t, got, "no room")
	require.Contains(t, got[manifestName], "truncated: true")
	require.Contains(t, got[manifestName], "not collected: the bundle is full")
}

func TestTimeIsLimited(t *testing.T) {
	hang := func(ctx context.Context, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }
	s := newServer(t, Config{
		Limits: Limits{Bundle: 1 << 20, File: 1 << 20, Time: 100 * time.Millisecond, ItemTime: 60 * time.Millisecond},
		Items: fixed(Item{Name: "one", Collect: hang}, Command("two", "sleep", "60"), text("three", "x"),
			Route("four", "/", nil, func(http.ResponseWriter, *http.Request) { select {} })),
	})
	s.bundle("POST", "", start, 201)
	got := s.collected()
	require.Contains(t, got[manifestName], "context deadline exceeded")
	require.Contains(t, got[manifestName], "not collected: the time for the whole bundle has passed")
}

// TestProgramThatHangs: once it has not answered in time, the items that ask it take little time from the others.
func TestProgramThatHangs(t *testing.T) {
	hang := func(ctx context.Context, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }
	var items []Item
	for i := range 40 {
		items = append(items, Item{Name: fmt.Sprintf("hangs-%02d", i), Collect: hang})
	}
	s := newServer(t, Config{
		Limits: Limits{Bundle: 1 << 20, File: 1 << 20, Time: patience, ItemTime: time.Second, AfterTimeout: time.Millisecond},
		Items:  fixed(append(Asking("Open vSwitch", items), text("last", "x"))...),
	})
	s.bundle("POST", "", start, 201)
	got := s.collected()
	require.Equal(t, "x", got["last"])
	var m manifest
	require.NoError(t, yaml.Unmarshal([]byte(got[manifestName]), &m))
	var took float64
	for _, f := range m.Files {
		seconds, err := strconv.ParseFloat(f.Seconds, 64)
		require.NoError(t, err)
		took += seconds
	}
	require.Less(t, took, 20.0, "half of what they may take without this")
	require.GreaterOrEqual(t, DefaultLimits.Time, DefaultLimits.ItemTime+10*DefaultLimits.AfterTimeout)
}

func TestRequestsAreRefused(t *testing.T) {
	s := newServer(t, Config{Items: fixed()})
	for _, tc := range []struct {
		method, path, body string
		code               int
		message            string
	}{
		{"POST", "", `{"metadata":{"name":"controller"}}`, 400, `metadata.name: \"controller\"; allowed: agent`},
		{"POST", "", `{"metadata":{"name":"agent"},"since":"yesterday"}`, 400, `since: \"yesterday\" is not a duration; allowed: for example 30m or 2h`},
		{"POST", "", `{"metadata":{"name":"agent"},"since":"-1h"}`, 400, "is not a duration"},
		{"POST", "", "k8s\x00protobuf", 400, "is not a SupportBundle in JSON"},
		{"GET", "", "", 405, "get is not supported"},
		{"PUT", "/agent", "", 405, "put is not supported"},
		{"GET", "/other", "", 404, ""},
	} {
		answer := s.do(tc.method, tc.path, tc.body)
		require.Equal(t, tc.code, answer.Code, tc)
		require.Contains(t, strings.ToLower(answer.Body.String()), strings.ToLower(tc.message))
	}
	require.NoDirExists(t, s.directory)
}

// TestDiskIsFull: nothing is left of a bundle that cannot be written.
func TestDiskIsFull(t *testing.T) {
	s := newServer(t, Config{Items: fixed(text("x", "y"))})
	// A foreign directory is in its place.
	require.NoError(t, os.Mkdir(s.directory, 0o755))
	s.bundle("POST", "", start, 201)
	require.Eventually(t, func() bool { return s.do("GET", "/agent", "").Code == 500 }, 30*time.Second, time.Millisecond)
	require.Contains(t, s.do("GET", "/agent", "").Body.String(), "the support bundle could not be collected: directory of support bundles: ")
	require.Empty(t, files(t, s.directory))
	require.NoError(t, os.Chmod(s.directory, 0o700))
	s.bundle("POST", "", start, 201)
	s.collected()
}

func TestDeleteEndsTheCollection(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	s := newServer(t, Config{Items: fixed(Item{Name: "waits", Collect: func(ctx context.Context, _ io.Writer) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}})})
	s.bundle("POST", "", start, 201)
	<-began
	require.Equal(t, 200, s.do("DELETE", "/agent", "").Code)
	<-ended
	require.Equal(t, v1beta1.SupportBundleStatusNone, s.bundle("GET", "/agent", "", 200).Status)
	require.Eventually(t, func() bool { return len(files(t, s.directory)) == 0 }, 30*time.Second, time.Millisecond)
}

func TestOldBundlesAreRemoved(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "bundles")
	require.NoError(t, os.Mkdir(directory, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "agent-old.tar.gz"), []byte("old"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	c, err := New(ctx, Config{Component: "agent", Directory: directory, Items: fixed(text("x", "y"))})
	require.NoError(t, err)
	require.NoDirExists(t, directory)
	_, err = c.Start("")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		b, err := c.State()
		return err == nil && b.Status == v1beta1.SupportBundleStatusCollected
	}, 30*time.Second, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(directory)
		return err == nil && len(left) == 0
	}, 30*time.Second, time.Millisecond)
}

func TestLogs(t *testing.T) {
	directory := t.TempDir()
	write := func(name string, content []byte, age time.Duration) {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte("old, token=hunter2\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	write("antrea-agent.n1.INFO.2", []byte("new\n"), time.Minute)
	write("antrea-agent.n1.INFO.1.gz", zipped.Bytes(), 2*time.Hour)
	write("antrea-agent.n1.ERROR.1", nil, time.Minute)
	write("antrea-agent.n1.INFO.3", bytes.Repeat([]byte("x"), maxLog+5), time.Second)
	write("antrea-agent.n1.INFO.4", append([]byte("token=hunter2 hunter2\n"), bytes.Repeat([]byte(strings.Repeat("x", 1023)+"\n"), maxLog>>10)[:maxLog-8]...), 3*time.Hour)
	write("antrea-controller.n1.INFO.1", []byte("other\n"), time.Minute)
	require.NoError(t, os.Symlink("antrea-agent.n1.INFO.2", filepath.Join(directory, "antrea-agent.INFO")))

	names := func(items []Item) (names []string) {
		for _, i := range items {
			names = append(names, i.Name)
		}
		return names
	}
	pattern := filepath.Join(directory, "antrea-agent*")
	all := Logs("logs/", pattern, time.Time{})
	require.Equal(t, []string{"logs/antrea-agent.n1.INFO.3", "logs/antrea-agent.n1.INFO.2", "logs/antrea-agent.n1.INFO.1", "logs/antrea-agent.n1.INFO.4"}, names(all))
	require.Equal(t, []string{"logs/antrea-agent.n1.INFO.3", "logs/antrea-agent.n1.INFO.2"}, names(Logs("logs/", pattern, time.Now().Add(-time.Hour))))
	require.Equal(t, []string{"logs/none"}, names(Logs("logs/", filepath.Join(directory, "absent*"), time.Time{})))

	// Secrets are looked for in 16 MiB, with the race detector.
	s := newServer(t, Config{Items: fixed(all...), Limits: Limits{Bundle: 3 * maxLog, File: 2 * maxLog, Time: patience, ItemTime: patience}})
	s.bundle("POST", "", start, 201)
	got := s.collected()
	require.Equal(t, "old, token=<redacted>\n", got["logs/antrea-agent.n1.INFO.1"])
	require.Equal(t, "new\n", got["logs/antrea-agent.n1.INFO.2"])
	require.True(t, strings.HasPrefix(got["logs/antrea-agent.n1.INFO.4"], "[the first 22 bytes are left out]\nxxx"), "%.60s", got["logs/antrea-agent.n1.INFO.4"])
	require.True(t, strings.HasPrefix(got["logs/antrea-agent.n1.INFO.3"], "[the first 5 bytes are left out]\nxxx"))
}
