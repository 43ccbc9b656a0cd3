// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes API (etcd and kube-apiserver, nothing else) for tests, listening on 127.0.0.1. The
// programs are built on first use from the versions pinned in hack/controlplane/go.mod.
//
// There is no controller manager: nothing makes service accounts, EndpointSlices or Pod CIDRs, and deleted namespaces do not
// go away. etcd has no authentication; whoever can log in to the host can write to it.
package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	// ServiceCIDRs are the ranges of cluster IPs. Services that do not ask for IPv6 get an address from the first one.
	ServiceCIDRs = "10.96.0.0/12,fd00:10:96::/112"

	startTimeout = 2 * time.Minute // 3 s on an idle machine
	attempts     = 3               // another process can take a free port before it is used
)

// Options are the options of Start.
type Options struct {
	// StateDir is an existing directory that only its owner can read, for data and keys.
	StateDir string
	// LogDir is an existing directory for etcd.log and kube-apiserver.log.
	LogDir string
	// Addresses are the IP addresses, besides 127.0.0.1, that clients use for the API (through forwarders).
	Addresses []string
	// Full, if set, makes this a whole control plane for kubelets on a network segment. Its API is at the first of Addresses.
	Full     *Full
	Progress *progress.Printer
}

// ControlPlane is a running Kubernetes API.
type ControlPlane struct {
	o         Options
	dir       string // of keys and data
	pki       *pki
	token     string
	port      int
	processes []*proc.Process
}

// Start builds the programs if needed, starts them and returns when /readyz says ok.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	programs, err := build(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	if o.Full != nil {
		if programs.controllers, err = buildControllers(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	o.Progress.Printf("control plane: starting etcd and kube-apiserver")
	for attempt := 1; ; attempt++ {
		c, err := start(ctx, o, programs)
		if err == nil {
			o.Progress.Printf("control plane: ready at https://%s", c.Address())
			return c, nil
		}
		if attempt == attempts || ctx.Err() != nil {
			return nil, err
		}
		o.Progress.Printf("control plane: trying again: %v", err)
	}
}

func start(ctx context.Context, o Options, programs programs) (_ *ControlPlane, err error) {
	dir, err := os.MkdirTemp(o.StateDir, "control-plane-")
	if err != nil {
		return nil, err
	}
	ports := fullPorts[:]
	if o.Full == nil {
		if ports, err = freeport.Loopback(3); err != nil {
			return nil, err
		}
	}
	c := &ControlPlane{o: o, dir: dir, port: ports[0]}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.pki, err = writePKI(dir, append([]string{"127.0.0.1"}, o.Addresses...)); err != nil {
		return nil, err
	}
	if c.token, err = writeTokens(filepath.Join(dir, "tokens.csv")); err != nil {
		return nil, err
	}
	etcdURL := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := c.run(programs.etcd, etcdArgs(dir, etcdURL, fmt.Sprintf("http://127.0.0.1:%d", ports[2]))); err != nil {
		return nil, err
	}
	if err := c.run(programs.apiserver, c.apiserverArgs(dir, etcdURL)); err != nil {
		return nil, err
	}
	if err := c.waitReady(ctx, c.processes[0], c.processes[1]); err != nil || o.Full == nil {
		return c, err
	}
	return c, c.startControllers(programs.controllers)
}

// run starts a program, which logs to <its name>.log.
func (c *ControlPlane) run(program string, args []string) error {
	log, err := os.Create(filepath.Join(c.o.LogDir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	start := proc.Start
	if c.o.Full != nil {
		start = func(cmd *exec.Cmd) (*proc.Process, error) { return proc.StartOn(c.o.Full.Segment.Thread(), cmd) }
	}
	p, err := start(cmd)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return err
}

func etcdArgs(dir, clientURL, peerURL string) []string {
	return []string{
		"--data-dir=" + filepath.Join(dir, "etcd"), "--log-level=warn", "--unsafe-no-fsync",
		"--listen-client-urls=" + clientURL, "--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=default=" + peerURL,
	}
}

func (c *ControlPlane) apiserverArgs(dir, etcdURL string) []string {
	file := func(name string) string { return filepath.Join(dir, name) }
	args := []string{
		"--etcd-servers=" + etcdURL, fmt.Sprintf("--secure-port=%d", c.port),
		"--tls-cert-file=" + file("serving.crt"), "--tls-private-key-file=" + file("serving.key"),
		"--client-ca-file=" + file("ca.crt"),
		// Makes the ConfigMap that other API servers (agent, controller) need for delegated authentication.
		"--requestheader-client-ca-file=" + file("ca.crt"), "--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + file("front-proxy.crt"), "--proxy-client-key-file=" + file("front-proxy.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + file("service-account.key"), "--service-account-signing-key-file=" + file("service-account.key"),
		"--token-auth-file=" + file("tokens.csv"), "--authorization-mode=Node,RBAC",
		"--allow-privileged",
	}
	if c.o.Full != nil {
		return append(args, c.o.Full.apiserverArgs(c.o.Addresses[0], file)...)
	}
	return append(args,
		"--service-cluster-ip-range="+ServiceCIDRs, "--bind-address=127.0.0.1",
		// Published nowhere (no endpoint reconciler), but without it kube-apiserver cannot start on a host without a default route.
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount", // nothing creates a namespace's account "default"
	)
}

// waitReady waits until the API is ready and has created the namespace that every other component uses.
func (c *ControlPlane) waitReady(ctx context.Context, etcd, apiserver *proc.Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.pki.caPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	if c.o.Full != nil {
		transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) { return c.o.Full.Segment.Dial(address) }
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := errors.Join(c.get(ctx, client, "/readyz"), c.get(ctx, client, "/api/v1/namespaces/kube-system"))
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver: %w: %w, see %s", context.Cause(ctx), err, c.o.LogDir)
		case <-etcd.Done():
			return fmt.Errorf("etcd has ended (%v), see %s/etcd.log", etcd.Err(), c.o.LogDir)
		case <-apiserver.Done():
			return fmt.Errorf("kube-apiserver has ended (%v), see %s/kube-apiserver.log", apiserver.Err(), c.o.LogDir)
		case <-tick.C:
		}
	}
}

func (c *ControlPlane) get(ctx context.Context, client *http.Client, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.Address()+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		return fmt.Errorf("%s: %s: %s", path, resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// Port returns the API's port on 127.0.0.1.
func (c *ControlPlane) Port() int { return c.port }

// Address is "127.0.0.1:<port>".
func (c *ControlPlane) Address() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

// WriteKubeconfig writes a kubeconfig of a cluster administrator who reaches the API at host (one of Options.Addresses, or
// 127.0.0.1) and this control plane's port.
func (c *ControlPlane) WriteKubeconfig(path, host string) error {
	return c.WriteAdminKubeconfig(path, fmt.Sprintf("%s:%d", host, c.port))
}

// WriteAdminKubeconfig is WriteKubeconfig for an API that is reached at an address ("127.0.0.1:6443").
func (c *ControlPlane) WriteAdminKubeconfig(path, address string) error {
	return os.WriteFile(path, kubeconfig("https://"+address, c.pki.caPEM, "{token: "+c.token+"}"), 0o600)
}

// CA is the certificate, in PEM, that has signed all others.
func (c *ControlPlane) CA() []byte { return c.pki.caPEM }

// Close ends the programs. Their data goes with the state directory, so they get little time.
func (c *ControlPlane) Close() {
	for _, p := range slices.Backward(c.processes) {
		_ = p.Stop(2 * time.Second) // the error says that it had to be killed
	}
}
