// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// defaultAcceptHosts are the names of this machine. A page in the user's browser that makes its own name resolve to this machine
// uses another one.
const defaultAcceptHosts = `^localhost$,^127\.0\.0\.1$,^\[::1\]$`

type proxyFlags struct {
	controller  bool
	agentNode   string
	address     string
	port        int
	acceptHosts string
}

func newProxy(s *session) *cobra.Command {
	f := &proxyFlags{}
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Make the API of the controller or of an agent available without authentication",
		Long: "Make the HTTPS API of the controller, or of the agent of one Node, available by HTTP on this machine.\n" +
			"Whoever can connect to the address has the rights of the service account antctl there, or in the controller's Pod all rights.",
		Example: "  antctl proxy --controller\n  antctl proxy --agent-node node-1 --port 8002",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.run(cmd, s); err != nil {
				return cleanError{err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.controller, "controller", false, "Proxy to the controller's API")
	flags.StringVar(&f.agentNode, "agent-node", "", "Proxy to the API of the agent of this Node")
	flags.StringVar(&f.address, "address", "127.0.0.1", "IP address to listen on")
	flags.IntVar(&f.port, "port", 8001, "Port to listen on; 0 means any")
	flags.StringVar(&f.acceptHosts, "accept-hosts", defaultAcceptHosts, "Regular expressions, separated by commas, for the Host of requests that are accepted")
	return cmd
}

func (f *proxyFlags) run(cmd *cobra.Command, s *session) error {
	if f.controller == (f.agentNode != "") {
		return errors.New("exactly one of --controller and --agent-node NODE is needed")
	}
	if _, err := netip.ParseAddr(f.address); err != nil {
		return fmt.Errorf("--address: %q is not an IP address", f.address)
	}
	hosts, err := parseHosts(f.acceptHosts)
	if err != nil {
		return err
	}
	target, err := f.target(cmd.Context(), s)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.address, strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("--port: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Starting to serve on %s\n", listener.Addr())
	return serveProxy(cmd.Context(), listener, &hostFilter{hosts: hosts, next: target.proxy()})
}

// target finds the component to proxy to.
func (f *proxyFlags) target(ctx context.Context, s *session) (*component, error) {
	if f.controller && s.env.InPod {
		c, err := newLoopbackClient(ModeController, s.conn.server, s.tokenFile)
		if err != nil {
			return nil, err
		}
		return &component{
			base: c.base, tls: &tls.Config{InsecureSkipVerify: true}, // as newLoopbackClient
			token: func(context.Context) (string, error) { return c.token, nil },
		}, nil
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return nil, err
	}
	if f.controller {
		return findController(ctx, kubernetes)
	}
	return findAgent(ctx, kubernetes, f.agentNode)
}

// proxy passes requests on to the component, with its token instead of the client's credentials.
func (c *component) proxy() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: c.base.Scheme, Host: c.base.Host}) },
		Transport: &authorized{component: c, next: &http.Transport{DialTLSContext: c.dial}},
		// Watches and profiles are passed on as they come.
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			klog.ErrorS(err, "Failed to pass on a request", "path", r.URL.Path)
			http.Error(w, cleanError{err}.Error(), http.StatusBadGateway)
		},
	}
}

// authorized adds the component's token to requests.
type authorized struct {
	component *component
	next      http.RoundTripper
}

func (a *authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := a.component.token(request.Context())
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return a.next.RoundTrip(request)
}

// hostFilter refuses requests that are meant for other hosts.
type hostFilter struct {
	hosts []*regexp.Regexp
	next  http.Handler
}

func (f *hostFilter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if _, _, err := net.SplitHostPort(host); err == nil {
		host = host[:strings.LastIndexByte(host, ':')]
	}
	for _, accepted := range f.hosts {
		if accepted.MatchString(host) {
			f.next.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, fmt.Sprintf("host %q is not accepted; see --accept-hosts", clean(host)), http.StatusForbidden)
}

func parseHosts(text string) ([]*regexp.Regexp, error) {
	var hosts []*regexp.Regexp
	for expression := range strings.SplitSeq(text, ",") {
		host, err := regexp.Compile(expression)
		if err != nil {
			return nil, fmt.Errorf("--accept-hosts: %w", err)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// serveProxy serves until ctx ends.
func serveProxy(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	}
	return nil
}
