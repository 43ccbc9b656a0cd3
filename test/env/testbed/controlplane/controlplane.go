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
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	// ServiceCIDR is the range of ClusterIPs.
	ServiceCIDR = "10.96.0.0/12"

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
	Progress  *progress.Printer
}

// ControlPlane is a running Kubernetes API.
type ControlPlane struct {
	o         Options
	pki       *pki
	token     string
	port      int
	etcd      *proc.Process
	apiserver *proc.Process
}

// Start builds the programs if needed, starts them and returns when /readyz says ok.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	programs, err := build(ctx, o.Progress)
	if err != nil {
		return nil, err
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
	ports, err := freeport.Loopback(3)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{o: o, port: ports[0]}
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
	if c.etcd, err = run(o.LogDir, programs.etcd, etcdArgs(dir, etcdURL, fmt.Sprintf("http://127.0.0.1:%d", ports[2]))); err != nil {
		return nil, err
	}
	if c.apiserver, err = run(o.LogDir, programs.apiserver, c.apiserverArgs(dir, etcdURL)); err != nil {
		return nil, err
	}
	return c, c.waitReady(ctx)
}

func run(logDir, program string, args []string) (*proc.Process, error) {
	log, err := os.Create(filepath.Join(logDir, filepath.Base(program)+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	return proc.Start(cmd)
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
	return []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.port),
		// Published nowhere (no endpoint reconciler), but without it kube-apiserver cannot start on a host without a default route.
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
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
		"--service-cluster-ip-range=" + ServiceCIDR, "--allow-privileged",
		"--disable-admission-plugins=ServiceAccount", // nothing creates a namespace's account "default"
	}
}

// waitReady waits until the API is ready and has created the namespace that every other component uses.
func (c *ControlPlane) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.pki.caPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
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
		case <-c.etcd.Done():
			return fmt.Errorf("etcd has ended (%v), see %s/etcd.log", c.etcd.Err(), c.o.LogDir)
		case <-c.apiserver.Done():
			return fmt.Errorf("kube-apiserver has ended (%v), see %s/kube-apiserver.log", c.apiserver.Err(), c.o.LogDir)
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
	data := kubeconfig(fmt.Sprintf("https://%s:%d", host, c.port), c.pki.caPEM, c.token)
	return os.WriteFile(path, data, 0o600)
}

// Close ends the programs. Their data goes with the state directory, so they get little time.
func (c *ControlPlane) Close() {
	for _, p := range []*proc.Process{c.apiserver, c.etcd} {
		if p != nil {
			_ = p.Stop(2 * time.Second) // the error says that it had to be killed
		}
	}
}
