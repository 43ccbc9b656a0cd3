// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"github.com/google/go-cmp/cmp"
)

// Tunnel is the tunnel between the Nodes, as a result file names it.
const Tunnel = "vxlan/8472"

// Description says what is on and off. That it is true follows from agentOptions, and from wantedStatus where the kernel must support it.
const Description = "tunnel mode, eBPF host routing, programs attached by TCX, kube-proxy replacement and socket load balancing on; " +
	"no policy, masquerading, Hubble, proxy or health checks"

// status is the compared part of an agent's status (StatusResponse in api/v1/openapi.yaml of Cilium).
type status struct {
	AttachMode string `json:"attach-mode"`
	Datapath   string `json:"datapath-mode"`
	Routing    struct {
		Between string `json:"inter-host-routing-mode"`
		Within  string `json:"intra-host-routing-mode"`
	} `json:"routing"`
	Replacement struct {
		Mode string `json:"mode"`
	} `json:"kube-proxy-replacement"`
	Masquerading struct {
		Enabled bool `json:"enabled"`
	} `json:"masquerading"`
}

// wantedStatus is the status of the datapath which Cilium recommends, as far as this kernel can have it. An agent falls
// back silently.
func wantedStatus() (s status) {
	s.AttachMode, s.Datapath, s.Replacement.Mode = "tcx", "veth", "True"
	s.Routing.Between, s.Routing.Within = "Tunnel", "BPF"
	return s
}

// checkStatus returns an error if an agent uses another datapath than is wanted.
func (n *node) checkStatus(ctx context.Context) error {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (c net.Conn, err error) {
		err = n.Host.Do(func() error { // the socket is in the Node's mount namespace
			c, err = net.Dial("unix", apiSocket)
			return err
		})
		return c, err
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/healthz", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("status of cilium-agent: %w", err)
	}
	defer response.Body.Close()
	var s status
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		return fmt.Errorf("status of cilium-agent: %s: %w", response.Status, err)
	}
	if difference := cmp.Diff(wantedStatus(), s); difference != "" {
		return fmt.Errorf("cilium-agent has chosen another datapath (-wanted +got):\n%s", difference)
	}
	return nil
}
