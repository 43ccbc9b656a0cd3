// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

const (
	webPort = 7600
	// webBytes is the size of the page.
	webBytes = 1024
)

// webKeepAlive is nginx under wrk, which keeps connections open; webConnections under ab, which opens one per request.
func webKeepAlive(m Machine) Workload {
	w := web(m, "nginx", "wrk")
	w.Flows = clients
	w.Measure = func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
		out, err := on.Client.Exec(ctx, "wrk", "-t", "1", "-c", strconv.Itoa(clients), "-d", fmt.Sprintf("%ds", wholeSeconds(length)), "--latency", pageOf(on))
		if err != nil {
			return o, err
		}
		return parseWrk(out)
	}
	return w
}

// webConnections is described with webKeepAlive. flows requests are made at a time.
func webConnections(m Machine, flows int) Workload {
	w := web(m, "nginx_crr", "ab")
	w.Flows = flows
	w.Measure = func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
		// -t sets a number of requests too; the one that follows replaces it.
		out, err := on.Client.Exec(ctx, "ab", "-q", "-t", strconv.Itoa(wholeSeconds(length)), "-n", "10000000", "-c", strconv.Itoa(flows), pageOf(on))
		if err != nil {
			return o, err
		}
		return parseAb(out)
	}
	return w
}

func pageOf(on Target) string { return "http://" + endpoint(on.Address, webPort) + "/page" }

func web(m Machine, name, tool string) Workload {
	return Workload{
		Name: name, Tool: tool, Bytes: webBytes,
		Servers: func(link bed.Link, state result.State) ([]Server, error) {
			config, err := webConfig(filepath.Join(m.Dir, "nginx-"+string(state)), endpoint(link.Address, webPort))
			return []Server{{Args: []string{"nginx", "-c", config}, Protocol: "tcp", Port: webPort}}, err
		},
	}
}

func webConfig(dir, listen string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "page"), []byte(strings.Repeat("x", webBytes)), 0o644); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "nginx.conf")
	return path, os.WriteFile(path, []byte(strings.NewReplacer("DIR", dir, "LISTEN", listen).Replace(`
daemon off;
worker_processes 1;
pid DIR/pid;
error_log stderr error;
events { worker_connections 256; }
http {
	access_log off;
	keepalive_requests 1000000000;
	sendfile on;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server {
		listen LISTEN;
		root DIR;
	}
}
`)), 0o644)
}

var (
	wrkTotal   = regexp.MustCompile(`(\d+) requests in`)
	wrkRate    = regexp.MustCompile(`Requests/sec: +([0-9.]+)`)
	wrkLatency = regexp.MustCompile(`(50|99)% +([0-9.]+)(us|ms|s)\b`)
	wrkErrors  = regexp.MustCompile(`Socket errors: .*|Non-2xx or 3xx responses: .*`)

	abTotal   = regexp.MustCompile(`Complete requests: +(\d+)`)
	abRate    = regexp.MustCompile(`Requests per second: +([0-9.]+)`)
	abErrors  = regexp.MustCompile(`Failed requests: +[1-9].*|Non-2xx responses: .*`)
	wrkToUsec = map[string]float64{"us": 1, "ms": 1e3, "s": 1e6}
)

func parseWrk(out string) (o Outcome, err error) {
	total, rate := wrkTotal.FindStringSubmatch(out), wrkRate.FindStringSubmatch(out)
	if total == nil || rate == nil || total[1] == "0" || wrkErrors.MatchString(out) {
		return o, fmt.Errorf("wrk has measured nothing, or errors: %s", excerpt(out))
	}
	o.Transactions = number(total[1])
	o.add(Rate, "1/s", false, number(rate[1]))
	for _, m := range wrkLatency.FindAllStringSubmatch(out, -1) {
		o.add("p"+m[1], "us", true, number(m[2])*wrkToUsec[m[3]])
	}
	return o, nil
}

func parseAb(out string) (o Outcome, err error) {
	total, rate := abTotal.FindStringSubmatch(out), abRate.FindStringSubmatch(out)
	if total == nil || rate == nil || total[1] == "0" || abErrors.MatchString(out) {
		return o, fmt.Errorf("ab has measured nothing, or errors: %s", excerpt(out))
	}
	o.Transactions = number(total[1])
	o.add(Rate, "1/s", false, number(rate[1]))
	return o, nil
}
