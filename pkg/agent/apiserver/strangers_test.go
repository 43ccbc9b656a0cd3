// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/loglevel"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/log"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

// flood sends n requests at once, as fast as they are answered, and returns how many had each status.
func (f *fixture) flood(n int, request func(i int) (path, token string)) map[int]int {
	f.t.Helper()
	const workers = 16
	f.client.Transport.(*http.Transport).MaxIdleConnsPerHost = workers
	var mu sync.Mutex
	statuses := map[int]int{}
	var next atomic.Int32
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				path, token := request(i)
				status, _, err := f.try("GET", path, token)
				if err != nil {
					status = -1
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return statuses
}

func TestAnonymousRequestsCostNoReviews(t *testing.T) {
	kubernetes := &apiservertest.Kubernetes{}
	f := start(t, kubernetes, nil)
	// Each path would be another question.
	statuses := f.flood(10000, func(i int) (string, string) { return "/hello/" + strconv.Itoa(i), "" })
	require.Equal(t, map[int]int{http.StatusForbidden: 10000}, statuses)
	require.Zero(t, kubernetes.Reviews.Load())
	require.Zero(t, kubernetes.AccessReviews.Load())
}

// Unknown clients with invented tokens cause few reviews, and known clients are served all the while.
func TestInventedTokensCostFewReviews(t *testing.T) {
	kubernetes := &apiservertest.Kubernetes{
		Users: map[string]string{"antctl-token": "antctl"}, Allowed: map[string][]string{"antctl": {"/hello"}},
	}
	f := start(t, kubernetes, nil)
	status, body := f.do("GET", "/hello", "antctl-token")
	require.Equal(t, http.StatusOK, status, body)

	begin := time.Now()
	var served atomic.Int32
	statuses := f.flood(2000, func(i int) (string, string) {
		if i%10 == 0 {
			served.Add(1)
			return "/hello", "antctl-token"
		}
		return "/hello", fmt.Sprintf("invented-%d", i)
	})
	limits := generic.DefaultLimits()
	most := 1 + limits.ReviewsOfSource*(4+1+int(time.Since(begin).Seconds())) + int(time.Since(begin)/(10*time.Second))
	require.Equal(t, int(served.Load()), statuses[http.StatusOK], "known callers: %v", statuses)
	require.Equal(t, 1800, statuses[http.StatusUnauthorized]+statuses[http.StatusTooManyRequests], "%v", statuses)
	require.LessOrEqual(t, int(kubernetes.Reviews.Load()), most)
	t.Logf("%v, %d reviews in %s", statuses, kubernetes.Reviews.Load(), time.Since(begin))
}

// A wrong token that comes again and again is reviewed once.
func TestRefusalsAreRemembered(t *testing.T) {
	kubernetes := &apiservertest.Kubernetes{}
	f := start(t, kubernetes, nil)
	for range 5 {
		status, _ := f.do("GET", "/hello", "wrong")
		require.Equal(t, http.StatusUnauthorized, status)
	}
	require.EqualValues(t, 1, kubernetes.Reviews.Load())
}

// A user who may do nothing cannot make the server ask that without end.
func TestUsersAskFewNewQuestions(t *testing.T) {
	kubernetes := &apiservertest.Kubernetes{
		Users:   map[string]string{"nobody-token": "nobody", "antctl-token": "antctl"},
		Allowed: map[string][]string{"antctl": {"/hello"}},
	}
	f := start(t, kubernetes, nil)
	begin := time.Now()
	for i := range 1000 {
		status, _ := f.do("GET", fmt.Sprintf("/invented/%d", i), "nobody-token")
		require.Equal(t, http.StatusForbidden, status)
	}
	limits := generic.DefaultLimits()
	require.LessOrEqual(t, int(kubernetes.AccessReviews.Load()), limits.ReviewsOfUser*(4+1+int(time.Since(begin).Seconds())))
	status, body := f.do("GET", "/hello", "antctl-token")
	require.Equal(t, http.StatusOK, status, body)
}

// captureLog returns what klog has written since, and a function that sets its flags until the test ends.
func captureLog(t *testing.T) (text func() string, set func(name, value string)) {
	t.Helper()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	set = func(name, value string) { require.NoError(t, flags.Set(name, value)) }
	t.Cleanup(func() {
		set("v", "0")
		set("vmodule", "")
	})
	return logtest.Text(t), set
}

func TestTokensAreNeverLogged(t *testing.T) {
	for _, tc := range []struct {
		name    string
		verbose func(t *testing.T, f *fixture, set func(name, value string))
	}{
		{"at the highest level that the API sets", func(t *testing.T, f *fixture, _ func(string, string)) {
			status, body := f.do("PUT", "/loglevel?level="+strconv.Itoa(log.MaxLevel), f.token)
			require.Equal(t, http.StatusOK, status, body)
			status, _ = f.do("PUT", "/loglevel?level="+strconv.Itoa(log.MaxLevel+1), f.token)
			require.Equal(t, http.StatusBadRequest, status)
		}},
		{"at the highest level of all", func(_ *testing.T, _ *fixture, set func(string, string)) { set("v", "10") }},
		{"at the highest level of the client library's files", func(_ *testing.T, _ *fixture, set func(string, string)) {
			set("vmodule", "request=10,round_trippers=10")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			captured, set := captureLog(t)
			kubernetes := &apiservertest.Kubernetes{
				Users:   map[string]string{"SECRET-valid": "antctl", "SECRET-nobody": "nobody", "SECRET-reader": "reader"},
				Allowed: map[string][]string{"antctl": {"/hello"}, "reader": {"/loglevel"}},
			}
			f := start(t, kubernetes, func(c *Config) {
				c.Routes["/loglevel"] = loglevel.HandleFunc()
				c.Changes = map[string]http.HandlerFunc{"/loglevel": loglevel.HandleSet()}
			})
			status, _ := f.do("GET", "/loglevel?level=9", "SECRET-reader")
			require.Equal(t, http.StatusMethodNotAllowed, status)
			status, _ = f.do("PUT", "/loglevel?level=5", "SECRET-reader")
			require.Equal(t, http.StatusForbidden, status)

			tc.verbose(t, f, set)
			for token, want := range map[string]int{"SECRET-valid": 200, "SECRET-nobody": 403, "SECRET-wrong": 401} {
				status, _ := f.do("GET", "/hello", token)
				require.Equal(t, want, status)
			}
			kubernetes.Failing.Store(true)
			status, _ = f.do("GET", "/hello", "SECRET-not-reviewed")
			require.Equal(t, http.StatusUnauthorized, status)
			text := captured()
			require.NotContains(t, text, "SECRET")
			require.NotContains(t, text, f.token)
			require.Contains(t, text, "asking the Kubernetes API for the review of a token", "the log is captured")
		})
	}
}
