// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Host is the part of the Node, besides the flows of Services, that proxyAll changes.
type Host struct {
	// Network leads connections to the switch.
	Network route.Services
	// NodePorts is the part of openflow.Client that recognizes NodePorts.
	NodePorts NodePortFlows
	// Health answers load balancers; nil without health checks.
	Health HealthChecks
	// Addresses returns the addresses of this Node that serve NodePorts.
	Addresses func() ([]netip.Addr, error)
	// Watch calls changed when Addresses may return something else, until ctx ends.
	Watch func(ctx context.Context, changed func())
}

// NodePortFlows is the part of openflow.Client for NodePorts.
type NodePortFlows interface {
	SetNodePortAddresses([]netip.Addr) error
}

// HealthChecks is a server for load balancers, see package servicehealth.
type HealthChecks interface {
	// Set makes the port answer how many Endpoints the Service has on this Node; port 0 ends that.
	Set(namespace, name string, port uint16, endpoints int) error
	// SetAddresses replaces the addresses that the ports are served at.
	SetAddresses([]netip.Addr) error
	// Ready says that the Services that were known at the start are installed.
	Ready()
}

// hostRetry are the delays between attempts to change the host's network.
var hostRetry = retry.Backoff{Min: minRetryDelay, Max: maxRetryDelay}

// SetHost is called once, before Run, if proxyAll is on.
func (c *Controller) SetHost(h Host) { c.host = &h }

// ipProtocols are the numbers of the protocols of Services.
var ipProtocols = map[corev1.Protocol]uint8{
	corev1.ProtocolTCP: unix.IPPROTO_TCP, corev1.ProtocolUDP: unix.IPPROTO_UDP, corev1.ProtocolSCTP: unix.IPPROTO_SCTP,
}

// hostPort returns what the host does for the port.
func (p *port) hostPort() route.ServicePort {
	h := route.ServicePort{IPv6: p.family() == ipv6, ClusterIPs: p.routes, External: p.external, Protocol: ipProtocols[p.Protocol]}
	for _, f := range p.Frontends {
		if f.NodePort {
			h.NodePort = f.Address.Port()
		} else {
			h.Port = f.Address.Port()
		}
	}
	return h
}

// apply makes the switch and the host do what the operation says. Connections are led to the switch only while it knows the port. has is
// the port that the switch has then, half done if the host has not followed; nil: none.
func (c *Controller) apply(op operation) (has *port, err error) {
	if op.now == nil {
		if c.host != nil {
			if err := c.host.Network.DeleteServicePort(op.name); err != nil {
				return op.before.half(), err
			}
		}
		if err := c.flows.UninstallService(op.name); err != nil {
			return op.before.half(), fmt.Errorf("uninstall %s: %w", op.name, err)
		}
		return nil, nil
	}
	if err := c.flows.InstallService(op.now.ServicePort); err != nil {
		return op.before, fmt.Errorf("install %s with %d Endpoints: %w", op.name, len(op.now.listed()), err)
	}
	if c.host == nil {
		return op.now, nil
	}
	if err := c.host.Network.SetServicePort(op.name, op.now.hostPort()); err != nil {
		return op.now.half(), err
	}
	return op.now, nil
}

// setHealth makes the Service's health check port answer.
func (c *Controller) setHealth(k key, h healthCheck) error {
	if c.host == nil || c.host.Health == nil {
		return nil
	}
	return c.host.Health.Set(k.Namespace, k.Name, h.port, h.endpoints)
}

// setAddresses tells all parts the addresses that serve NodePorts.
func (c *Controller) setAddresses() error {
	addresses, err := c.host.Addresses()
	if err != nil {
		return fmt.Errorf("find the addresses for NodePorts: %w", err)
	}
	c.cleaner.setAddresses(addresses)
	errs := []error{c.host.NodePorts.SetNodePortAddresses(addresses), c.host.Network.SetNodePortAddresses(addresses)}
	if c.host.Health != nil {
		errs = append(errs, c.host.Health.SetAddresses(addresses))
	}
	return errors.Join(errs...)
}

// followAddresses keeps the addresses until ctx ends, and calls set when they are known.
func (c *Controller) followAddresses(ctx context.Context, set func()) {
	changed := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		c.host.Watch(ctx, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	})
	task := retry.NewTask("Setting the addresses for NodePorts", 0, hostRetry)
	for ctx.Err() == nil {
		delay := task.Done(c.setAddresses())
		if delay == 0 {
			set()
		}
		var again <-chan time.Time
		if delay > 0 {
			again = time.After(delay)
		}
		select {
		case <-ctx.Done():
		case <-again:
		case <-changed:
		}
	}
}

// completeHost removes what is left of Services that have gone while no agent was running, once all others are installed.
func (c *Controller) completeHost(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-c.installed:
	}
	if c.host.Health != nil {
		c.host.Health.Ready()
	}
	task := retry.NewTask("Removing what Services that have gone had on the host", 0, hostRetry)
	for {
		delay := task.Done(c.host.Network.ReconcileServices())
		if delay == 0 || retry.Sleep(ctx, delay) != nil {
			klog.V(2).InfoS("The host has what Services need")
			return
		}
	}
}
