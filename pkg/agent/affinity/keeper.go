// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package affinity keeps session affinity, which Open vSwitch learns by itself, for a time when Open vSwitch is restarted, alone or with the
// agent, and reports Services that have as many clients as may have affinity.
package affinity

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/cputime"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// DefaultFile keeps a reading for the next agent. It does not outlive the Node's kernel.
const DefaultFile = "/var/run/antrea/affinities"

// ReasonFull: a port of the Service has as many clients with affinity as it may have.
const ReasonFull problem.Reason = "ServiceAffinityFull"

const (
	interval = 30 * time.Second
	// readShare bounds the CPU time of readings: after a reading comes a pause of at least readShare times what it has taken.
	readShare = 50
	// lastReading limits the time for which an agent that stops waits for a reading.
	lastReading = time.Second
)

// Flows is the part of openflow.Client that the keeper needs.
type Flows interface {
	ReadAffinities(ctx context.Context) (openflow.AffinityReading, error)
	RestoreAffinities(affinities []openflow.Affinity, read time.Time) error
}

// Keeper reads affinities.
type Keeper struct {
	flows    Flows
	problems problem.Reporter
	file     string
	// full are the Services about which a problem is reported.
	full map[string]bool
	// stored is set when the file has affinities, or may have.
	stored bool
}

var fullPorts = metrics.NewGauge(&metrics.GaugeOpts{
	Name: "antrea_proxy_full_affinity_ports", StabilityLevel: metrics.ALPHA,
	Help: "Ports of Services with as many clients with session affinity as they may have. New clients have none.",
})

var registerMetric = sync.OnceFunc(func() { legacyregistry.MustRegister(fullPorts) })

// New makes a Keeper that stores readings in the file.
func New(flows Flows, problems problem.Reporter, file string) *Keeper {
	registerMetric()
	return &Keeper{flows: flows, problems: problems, file: file, full: map[string]bool{}, stored: true}
}

// stored is the content of the file.
type stored struct {
	Read       time.Time
	Affinities []openflow.Affinity
}

// Restore gives the flows the reading of an earlier agent. Call it before Services are installed.
func (k *Keeper) Restore() {
	if err := k.restore(); err != nil {
		klog.ErrorS(err, "Clients may lose their session affinity")
	}
}

func (k *Keeper) restore() error {
	text, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s stored
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(text)).Decode(&s)
	}
	if err == nil {
		err = k.flows.RestoreAffinities(s.Affinities, s.Read)
	}
	if err != nil {
		return fmt.Errorf("restore the session affinity that an earlier agent has stored in %s: %w", k.file, err)
	}
	return nil
}

// Run reads affinities until ctx ends, and once more then.
func (k *Keeper) Run(ctx context.Context) {
	task := retry.NewTask("Reading session affinity", interval, retry.Backoff{Min: time.Second, Max: interval})
	for {
		var err error
		spent := cputime.Of(func() { err = k.read(ctx) })
		if retry.Sleep(ctx, max(task.Done(err), readShare*spent)) == nil {
			continue
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReading)
		defer cancel()
		if err := k.read(last); err != nil {
			klog.V(2).InfoS("Session affinity is not read once more", "reason", err)
		}
		return
	}
}

// read reads once, and stores and reports what it has read.
func (k *Keeper) read(ctx context.Context) error {
	read := time.Now()
	r, err := k.flows.ReadAffinities(ctx)
	if err != nil {
		return err
	}
	k.report(r.Full)
	return k.store(stored{read, r.Affinities})
}

func (k *Keeper) report(ports []string) {
	fullPorts.Set(float64(len(ports)))
	full := map[string][]string{}
	for _, port := range ports {
		service, _, _ := strings.Cut(port, ":")
		full[service] = append(full[service], port)
	}
	for service := range k.full {
		if full[service] == nil {
			k.problems.Resolve(ReasonFull, subject(service))
			delete(k.full, service)
		}
	}
	for _, service := range slices.Sorted(maps.Keys(full)) {
		k.full[service] = true
		k.problems.Report(ReasonFull, subject(service), fmt.Sprintf("%s: as many clients as possible have session affinity, at %s. New clients are "+
			"served without it", subject(service), strings.Join(full[service], ", ")))
	}
}

func subject(service string) problem.Subject {
	namespace, name, _ := strings.Cut(service, "/")
	return problem.Subject{Kind: "Service", Namespace: namespace, Name: name}
}

// store replaces the file. There is none as long as there are no affinities.
func (k *Keeper) store(s stored) error {
	if len(s.Affinities) == 0 && !k.stored {
		return nil
	}
	var text bytes.Buffer
	err := gob.NewEncoder(&text).Encode(&s)
	if err == nil {
		err = statefile.Replace(k.file, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("store session affinity for the next agent: %w", err)
	}
	k.stored = len(s.Affinities) > 0
	return nil
}
