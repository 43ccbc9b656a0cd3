// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

const (
	traceflowPath = "/apis/crd.antrea.io/v1beta1/traceflows"
	// defaultTrace limits a trace without --timeout, as in Antrea.
	defaultTrace = 10 * time.Second
	// tracePoll is the interval between two looks at the result. traceSlack is the delay with which the controller may
	// end a trace.
	tracePoll, traceSlack = 200 * time.Millisecond, 5 * time.Second
)

// traceOptions are the flags of antctl traceflow.
type traceOptions struct {
	source, destination, flow, output string
	live, droppedOnly, noWait         bool
}

// traceResult is the output of antctl traceflow.
type traceResult struct {
	Name           string                 `json:"name,omitempty"`
	Phase          v1beta1.TraceflowPhase `json:"phase,omitempty"`
	Reason         string                 `json:"reason,omitempty"`
	Source         string                 `json:"source,omitempty"`
	Destination    string                 `json:"destination,omitempty"`
	Results        []v1beta1.NodeResult   `json:"results,omitempty"`
	CapturedPacket *v1beta1.Packet        `json:"capturedPacket,omitempty"`
}

func newTraceflow(s *session) *cobra.Command {
	o := &traceOptions{}
	cmd := &cobra.Command{
		Use: "traceflow", Aliases: []string{"tf", "traceflows"}, Args: cobra.NoArgs,
		Short: "Trace a packet from a Pod to a Pod, Service or IP",
		Long: "Trace a packet from a Pod to a Pod, Service or IP: one that is made, or with --live-traffic the first real one that matches.\n" +
			"The command makes a Traceflow in the Kubernetes API, waits for its end, prints what each Node has done with the packet, and\n" +
			"deletes the Traceflow.",
		Example: "  antctl traceflow -S pod1 -D ns2/pod2\n" +
			"  antctl traceflow -S ns1/pod1 -D 203.0.113.9 -f udp,udp_dst=53\n" +
			"  antctl traceflow -S ns1/pod1 -D ns1/svc1 -f tcp,tcp_dst=80 -o json\n" +
			"  antctl traceflow -S pod1 -D svc1 -f tcp --live-traffic -t 1m\n" +
			"  antctl traceflow -D pod1 -f tcp,tcp_dst=80 --live-traffic --dropped-only -t 5m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.source == "" && o.destination == "" {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), "Name a source (-S) and a destination (-D); with --live-traffic, one of them is enough")
				return err
			}
			if err := s.trace(cmd, o); err != nil {
				return cleanError{err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.source, "source", "S", "", "Source: NAMESPACE/POD, POD in the Namespace default, or of live traffic an IP")
	flags.StringVarP(&o.destination, "destination", "D", "", "Destination: NAMESPACE/POD, NAMESPACE/SERVICE, a name in the Namespace default, or an IP")
	flags.StringVarP(&o.flow, "flow", "f", "", "Headers of the packet: ipv6, icmp, tcp, udp, tcp_src, tcp_dst, tcp_flags, udp_src and udp_dst, such as tcp,tcp_dst=80")
	flags.BoolVarP(&o.live, "live-traffic", "L", false, "Trace the first real packet that opens a connection and matches")
	flags.BoolVar(&o.droppedOnly, "dropped-only", false, "Of live traffic, trace only what a NetworkPolicy drops")
	flags.BoolVar(&o.noWait, "no-wait", false, "Neither wait for the result nor delete the Traceflow")
	flags.StringVarP(&o.output, "output", "o", string(FormatYAML), "Output format: json, yaml or jsonpath=TEMPLATE")
	return cmd
}

// trace makes a Traceflow, and waits for its end unless it must not.
func (s *session) trace(cmd *cobra.Command, o *traceOptions) error {
	format, err := parseFormat(o.output)
	if err != nil || format == FormatTable {
		return fmt.Errorf("--output: unsupported format %q; allowed: json, yaml, jsonpath=TEMPLATE", o.output)
	}
	if o.droppedOnly && !o.live {
		return errors.New("--dropped-only needs --live-traffic: a packet that is made is always traced")
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	limit := defaultTrace
	if s.conn.timeout > 0 {
		limit = s.conn.timeout
	}
	t := &v1beta1.Traceflow{Spec: v1beta1.TraceflowSpec{LiveTraffic: o.live, DroppedOnly: o.droppedOnly, Timeout: int32((limit + time.Second - 1) / time.Second)}}
	t.APIVersion, t.Kind = v1beta1.SchemeGroupVersion.String(), v1beta1.TraceflowKind
	if err := o.fillEnds(ctx, kubernetes, &t.Spec); err != nil {
		return err
	}
	if err := parseTraceHeaders(o.flow, &t.Spec.Packet); err != nil {
		return err
	}
	if t.Spec.Packet.IPv6Header == nil && (isIPv6Text(o.source) || isIPv6Text(o.destination)) {
		t.Spec.Packet.IPv6Header = &v1beta1.IPv6Header{}
		if h := t.Spec.Packet.IPHeader; h != nil {
			t.Spec.Packet.IPv6Header.NextHeader, t.Spec.Packet.IPHeader = ptr.To(h.Protocol), nil
		}
	}
	t.Name = traceName(o)
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encoding the Traceflow: %w", err)
	}
	if _, err := kubernetes.send(ctx, http.MethodPost, traceflowPath, nil, body); err != nil {
		return fmt.Errorf("making Traceflow %s: %w", t.Name, explainRefusal(ctx, kubernetes, err))
	}
	if o.noWait {
		return write(cmd.OutOrStdout(), Result{Data: traceResult{Name: t.Name}}, format)
	}
	defer func() {
		deletion, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceSlack)
		defer cancel()
		if _, err := kubernetes.do(deletion, http.MethodDelete, traceflowPath+"/"+t.Name, nil); err != nil {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "deleting Traceflow %s: %v\n", t.Name, err)
		}
	}()
	waitErr := awaitTrace(ctx, kubernetes, t, limit+traceSlack)
	result := traceResult{
		Name: t.Name, Phase: t.Status.Phase, Reason: t.Status.Reason, Source: o.source, Destination: o.destination,
		Results: t.Status.Results, CapturedPacket: t.Status.CapturedPacket,
	}
	return errors.Join(write(cmd.OutOrStdout(), Result{Data: result}, format), waitErr)
}

// explainRefusal says so if the Kubernetes API has refused a Traceflow because it does not know any.
func explainRefusal(ctx context.Context, kubernetes *client, refusal error) error {
	var known metav1.APIResourceList
	if err := kubernetes.get(ctx, path.Dir(traceflowPath), &known); err == nil &&
		slices.ContainsFunc(known.APIResources, func(r metav1.APIResource) bool { return r.Kind == v1beta1.TraceflowKind }) {
		return refusal
	}
	return fmt.Errorf("%w (is the CRD traceflows.crd.antrea.io installed? Helm does not do that in an upgrade)", refusal)
}

// awaitTrace reads the Traceflow until it has ended.
func awaitTrace(ctx context.Context, kubernetes *client, t *v1beta1.Traceflow, limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(tracePoll)
	defer ticker.Stop()
	for {
		var now v1beta1.Traceflow
		if err := kubernetes.get(ctx, traceflowPath+"/"+t.Name, &now); err != nil {
			return fmt.Errorf("reading Traceflow %s: %w", t.Name, err)
		}
		if t.Status = now.Status; t.Status.Phase == v1beta1.TraceflowSucceeded || t.Status.Phase == v1beta1.TraceflowFailed {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("timeout waiting for Traceflow done: after %v its phase is %q; is the feature gate Traceflow on, and does antrea-controller run?", limit, t.Status.Phase)
		case <-ticker.C:
		}
	}
}

// fillEnds finds out what source and destination are.
func (o *traceOptions) fillEnds(ctx context.Context, kubernetes *client, spec *v1beta1.TraceflowSpec) error {
	if o.source != "" {
		if _, err := netip.ParseAddr(o.source); err == nil {
			spec.Source.IP = o.source
		} else if spec.Source.Namespace, spec.Source.Pod, err = splitName("--source", o.source); err != nil {
			return err
		}
	}
	if o.destination == "" {
		return nil
	}
	if _, err := netip.ParseAddr(o.destination); err == nil {
		spec.Destination.IP = o.destination
		return nil
	}
	namespace, name, err := splitName("--destination", o.destination)
	if err != nil {
		return err
	}
	spec.Destination.Namespace = namespace
	isPod, err := exists(ctx, kubernetes, namespace, "pods", name)
	if err != nil {
		return err
	}
	if isPod {
		spec.Destination.Pod = name
		return nil
	}
	isService, err := exists(ctx, kubernetes, namespace, "services", name)
	if err != nil {
		return err
	}
	if !isService {
		return fmt.Errorf("--destination: there is neither a Pod nor a Service %s in Namespace %s", name, namespace)
	}
	spec.Destination.Service = name
	return nil
}

func splitName(flag, text string) (namespace, name string, err error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		namespace, name = metav1.NamespaceDefault, text
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%s: %q is neither an IP nor NAMESPACE/NAME nor NAME", flag, text)
	}
	return namespace, name, nil
}

// exists reports whether the object exists. It lists, because the text of an error does not say whether an object is
// missing.
func exists(ctx context.Context, kubernetes *client, namespace, resource, name string) (bool, error) {
	var list metav1.PartialObjectMetadataList
	path := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/" + resource
	if err := kubernetes.getWith(ctx, path, url.Values{"fieldSelector": {"metadata.name=" + name}}, &list); err != nil {
		return false, fmt.Errorf("looking for %s/%s among the %s: %w", namespace, name, resource, err)
	}
	return len(list.Items) > 0, nil
}

func isIPv6Text(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Is6()
}

// traceName returns a unique name.
func traceName(o *traceOptions) string {
	end := func(text string) string {
		if text == "" {
			return "any"
		}
		return strings.Trim(strings.NewReplacer("/", "-", ":", "-").Replace(text), "-.")
	}
	const longest = 200
	name := end(o.source) + "-to-" + end(o.destination)
	return strings.TrimRight(name[:min(len(name), longest)], "-.") + "-" + rand.String(8)
}

// traceProtocols are the protocols of --flow.
var traceProtocols = map[string]int32{"icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58}

// parseTraceHeaders reads --flow, which has the syntax of ovs-ofctl.
func parseTraceHeaders(text string, packet *v1beta1.Packet) error {
	var protocol int32
	var ipv6 bool
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		key, value, hasValue := strings.Cut(part, "=")
		if number, ok := traceProtocols[key]; ok && !hasValue {
			if protocol != 0 && protocol != number {
				return fmt.Errorf("--flow: %q names two protocols", text)
			}
			protocol, ipv6 = number, ipv6 || key == "icmpv6"
			continue
		}
		if key == "ipv6" && !hasValue {
			ipv6 = true
			continue
		}
		if key == "ip" && !hasValue {
			continue
		}
		if err := setTraceField(key, value, &packet.TransportHeader); err != nil {
			return fmt.Errorf("--flow: %q: %w", part, err)
		}
	}
	h := &packet.TransportHeader
	if h.TCP != nil && h.UDP != nil || h.TCP != nil && protocol != 0 && protocol != 6 || h.UDP != nil && protocol != 0 && protocol != 17 {
		return fmt.Errorf("--flow: %q has fields of another protocol", text)
	}
	switch {
	case protocol != 0:
	case h.TCP != nil:
		protocol = 6
	case h.UDP != nil:
		protocol = 17
	}
	switch {
	case ipv6:
		packet.IPv6Header = &v1beta1.IPv6Header{}
		if protocol == 1 {
			protocol = 58
		}
		if protocol != 0 {
			packet.IPv6Header.NextHeader = ptr.To(protocol)
		}
	case protocol != 0:
		packet.IPHeader = &v1beta1.IPHeader{Protocol: protocol}
	}
	return nil
}

func setTraceField(key, value string, h *v1beta1.TransportHeader) error {
	const fields = "ip, ipv6, icmp, icmpv6, tcp, udp, tcp_src, tcp_dst, tcp_flags, udp_src, udp_dst"
	var maximum int64 = 65535
	if key == "tcp_flags" {
		maximum = 255
	}
	number, err := strconv.ParseInt(value, 0, 32)
	tcp := func() *v1beta1.TCPHeader {
		if h.TCP == nil {
			h.TCP = &v1beta1.TCPHeader{}
		}
		return h.TCP
	}
	udp := func() *v1beta1.UDPHeader {
		if h.UDP == nil {
			h.UDP = &v1beta1.UDPHeader{}
		}
		return h.UDP
	}
	known := map[string]func(){
		"tcp_src": func() { tcp().SrcPort = int32(number) }, "tcp_dst": func() { tcp().DstPort = int32(number) },
		"tcp_flags": func() { tcp().Flags = ptr.To(int32(number)) },
		"udp_src":   func() { udp().SrcPort = int32(number) }, "udp_dst": func() { udp().DstPort = int32(number) },
	}
	set, ok := known[key]
	switch {
	case !ok:
		return fmt.Errorf("unknown field; allowed: %s", fields)
	case err != nil || number < 0 || number > maximum:
		return fmt.Errorf("%q is not a value; allowed: 0 to %d", value, maximum)
	}
	set()
	return nil
}
