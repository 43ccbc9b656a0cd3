// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package performance

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/antctl/performance/peer"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
)

// world is a cluster of three Nodes whose agents and Pods answer as they should, but for what a test changes.
type world struct {
	modes map[string]string
	hits  map[string]uint64
	// disabled is a Node without the gate, unavailable one whose cache cannot be used.
	disabled, unavailable string
	// idle is set when no packet takes the fast path.
	idle bool
	// failing fails a measurement: its number from 1; 0 for none.
	failing int
	// busy is set when the port is in use.
	busy bool
	// stop ends the run with the first measurement; may be nil.
	stop     func()
	measured []string
	kube     *fake.Clientset
}

func newWorld() *world {
	w := &world{modes: map[string]string{"a": "enforce", "b": "observe", "c": "enforce"}, hits: map[string]uint64{}}
	var objects []runtime.Object
	for node := range w.modes {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
		if node == "a" {
			object.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
		}
		objects = append(objects, object, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "antrea-agent-" + node, Labels: map[string]string{"app": "antrea", "component": "antrea-agent"}},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "antrea-ovs", Image: "other"}, {Name: "antrea-agent", Image: "agent-of-" + node}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	w.kube = fake.NewClientset(objects...)
	w.kube.PrependReactor("create", "namespaces", func(action kubetesting.Action) (bool, runtime.Object, error) {
		namespace := action.(kubetesting.CreateAction).GetObject().(*corev1.Namespace).Name
		return false, nil, w.kube.Tracker().Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}})
	})
	w.kube.PrependReactor("create", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		pod := action.(kubetesting.CreateAction).GetObject().(*corev1.Pod)
		if pod.Spec.Containers[0].Image != "agent-of-"+pod.Spec.NodeName {
			return true, nil, errors.New("image " + pod.Spec.Containers[0].Image)
		}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		if w.busy && pod.Spec.HostNetwork {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
				{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "address already in use"}}},
			}}
		}
		return false, nil, nil
	})
	return w
}

// Get answers like an agent.
func (w *world) Get(_ context.Context, node, path string, _ url.Values, answer any) error {
	if path != "/oncache" || node == w.disabled {
		return errors.New("oncache is not enabled")
	}
	state := map[string]string{"enforce": api.StateActive, "observe": "Observing", "off": "Off"}[w.modes[node]]
	status := api.Status{State: state, Mode: w.modes[node], Egress: api.DirectionStats{Hits: w.hits[node]}}
	if node == w.unavailable {
		status.State, status.Reason = api.StateUnavailable, "old kernel"
	}
	*answer.(*api.Status) = status
	return nil
}

func (w *world) SetMode(ctx context.Context, node, mode string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.modes[node] = mode
	return nil
}

// exec is slower without the fast path than with it, and fastest between hosts; each round takes longer.
func (w *world) exec(ctx context.Context, pod types.NamespacedName, command ...string) ([]byte, error) {
	if w.stop != nil {
		w.stop()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	state, speed := Slow, 20.0
	switch {
	case strings.HasPrefix(pod.Name, "host-"):
		state, speed = Host, 10
	case w.modes["b"] == "enforce" && w.modes["c"] == "enforce":
		state, speed = Fast, 12.5
		if !w.idle {
			w.hits["b"]++
			w.hits["c"]++
		}
	}
	w.measured = append(w.measured, string(state)+" "+strings.Split(command[3], "=")[1])
	if len(w.measured) == w.failing {
		return nil, errors.New("connection refused")
	}
	drift := 1 + float64((len(w.measured)-1)/12)
	return json.Marshal(peer.Metrics{Median: speed * drift, P99: 2 * speed * drift, CPU: speed * drift, Rate: 100 / speed / drift, Throughput: 100 / speed / drift})
}

func (w *world) test() *Test {
	return &Test{
		Kube: w.kube, Agents: w, Exec: w.exec, Limits: testpods.Limits{Patience: 50 * time.Millisecond, Interval: time.Millisecond},
		Rounds: 6, Duration: time.Second, Port: 10399, Progress: &bytes.Buffer{},
	}
}

// requireTidy checks that a run leaves nothing behind.
func (w *world) requireTidy(t *testing.T) {
	t.Helper()
	require.Equal(t, map[string]string{"a": "enforce", "b": "observe", "c": "enforce"}, w.modes)
	namespaces, err := w.kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, namespaces.Items)
}

func TestRun(t *testing.T) {
	w := newWorld()
	result, err := w.test().Run(t.Context())
	require.NoError(t, err)
	w.requireTidy(t)
	require.Equal(t, "b c", result.Client+" "+result.Server, "without taints")

	// A round for warming up, then each state is first equally often; a state measures all workloads.
	var states []string
	for measurements := range slices.Chunk(w.measured, len(peer.Workloads)) {
		state := strings.Fields(measurements[0])[0]
		for i, workload := range peer.Workloads {
			require.Equal(t, state+" "+workload, measurements[i])
		}
		states = append(states, state)
	}
	var rounds []string
	for round := range slices.Chunk(states, 3) {
		rounds = append(rounds, strings.Join(round, " "))
	}
	once := []string{"host slow fast", "slow fast host", "fast host slow"}
	require.Equal(t, slices.Concat(once[:1], once, once), rounds)

	var table bytes.Buffer
	require.NoError(t, result.Print(&table))
	// The machine became slower all the time, the ratios did not.
	require.Regexp(t, `(?m)^TCP round trip, us +45 +90 +56\.25 +1\.60 \(1\.60-1\.60\) +0\.80 `, table.String())
	require.Regexp(t, `(?m)^TCP throughput, Gbit/s .* 1\.60 `, table.String())
	require.Regexp(t, `(?m)^MEDIAN +HOST +SLOW +FAST +FAST/SLOW +FAST/HOST +SLOW/HOST$`, table.String())
}

// TestPicture: a picture has a bar with its median for each state, and the ratios in words; of names nothing is taken for markup.
func TestPicture(t *testing.T) {
	w := newWorld()
	result, err := w.test().Run(t.Context())
	require.NoError(t, err)
	result.Server = "c<script>"
	picture := result.Picture()
	require.NoError(t, xml.Unmarshal([]byte(picture), new(struct{ XMLName xml.Name })))
	require.NotContains(t, picture, "<script>")
	for _, class := range []string{"bare", "off", "on"} {
		require.Equal(t, 2, strings.Count(picture, `<rect class="`+class+`"`), class)
	}
	require.Equal(t, 18, strings.Count(picture, `<line class="range"`), "three lines a whisker")
	require.Contains(t, picture, "TCP round trip, ratios of speed: fast/slow 1.60 (1.60-1.60)")
	require.NotContains(t, picture, "not measured")

	w = newWorld()
	w.disabled = "c"
	result, err = w.test().Run(t.Context())
	require.NoError(t, err)
	picture = result.Picture()
	require.NotContains(t, picture, `<rect class="on"`)
	require.Contains(t, picture, "fast was not measured: the feature gate ONCache is off on Node c")
	result.Samples[peer.TCPStream] = nil
	require.Contains(t, result.Picture(), ">not measured<")
}

func TestWithoutFastPath(t *testing.T) {
	for reason, change := range map[string]func(*world){
		"the feature gate ONCache is off on Node c":      func(w *world) { w.disabled = "c" },
		"the cache of Node b is Unavailable: old kernel": func(w *world) { w.unavailable = "b" },
	} {
		w := newWorld()
		change(w)
		result, err := w.test().Run(t.Context())
		require.NoError(t, err)
		w.requireTidy(t)
		var table bytes.Buffer
		require.NoError(t, result.Print(&table))
		require.Contains(t, table.String(), "fast was not measured: "+reason)
		require.Regexp(t, `(?m)^MEDIAN +HOST +SLOW +SLOW/HOST$`, table.String())
		require.Regexp(t, `(?m)^TCP connections, 1/s .* 0\.50 `, table.String())
	}
}

// Whatever fails, the modes are restored and the Namespace is deleted.
func TestFailures(t *testing.T) {
	for message, change := range map[string]func(*world, *Test, func()){
		"measuring tcp_stream, state slow, from Node b to 10.0.0.1:10399 on Node c: connection refused": func(w *world, _ *Test, _ func()) { w.failing = 7 },
		"no packet has taken the fast path of Node b and c":                                             func(w *world, _ *Test, _ func()) { w.idle = true },
		"context canceled": func(w *world, _ *Test, stop func()) { w.stop = stop },
		"is port 10399 free there? --port names another one): address already in use": func(w *world, _ *Test, _ func()) { w.busy = true },
		"node d has no agent that is ready; these have: a, b, c":                      func(_ *world, test *Test, _ func()) { test.Nodes = []string{"d", "a"} },
		`two Nodes with an agent that is ready are needed, not "a,a"`:                 func(_ *world, test *Test, _ func()) { test.Nodes = []string{"a", "a"} },
	} {
		t.Run(message, func(t *testing.T) {
			w := newWorld()
			test := w.test()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			change(w, test, stop)
			_, err := test.Run(ctx)
			require.ErrorContains(t, err, message)
			w.requireTidy(t)
		})
	}
}

// A mode that cannot be restored is named, with the command that restores it.
func TestModeIsNotRestored(t *testing.T) {
	w := newWorld()
	test := w.test()
	test.Agents = unreachable{w}
	_, err := test.Run(t.Context())
	require.ErrorContains(t, err, "restoring the mode of the cache, please do so by antctl oncache mode observe --node b: no route")
}

// unreachable are agents that refuse the mode observe.
type unreachable struct{ *world }

func (u unreachable) SetMode(ctx context.Context, node, mode string) error {
	if mode == "observe" {
		return fmt.Errorf("no route")
	}
	return u.world.SetMode(ctx, node, mode)
}
