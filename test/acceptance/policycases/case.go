// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

// Results of a new connection.
const (
	Connected = "Connected"
	Dropped   = "Dropped"
	Rejected  = "Rejected"
)

// Protocols of probes.
const (
	TCP  = "tcp"
	UDP  = "udp"
	SCTP = "sctp"
	ICMP = "icmp"
	// Name is TCP to a name instead of an address.
	Name = "name"
)

// Case is one case of upstream's. Its objects go with its end.
type Case struct {
	// Name is upstream's without "Case=".
	Name  string
	Steps []Step
}

// Step changes objects and then probes at once.
type Step struct {
	// Do are the changes, in their order. Policies of Antrea are waited for after the last one, until they are realized.
	Do []Change
	// Protocol is TCP if it is empty, Ports are 80 if there are none.
	Protocol string
	Ports    []int
	// Want are the pairs of the mesh that are not connected, such as "x,y/a > z/*: Dropped". Of several that match, the last one counts. Default is the
	// result of the others; Connected if it is empty.
	Want    []string
	Default string
	// Probes are further connections. NoMesh leaves only these.
	Probes []Probe
	NoMesh bool
	// Evaluations are questions to antctl query networkpolicyevaluation.
	Evaluations []Evaluation
}

// Change is one of its fields.
type Change struct {
	// Apply creates or updates an object.
	Apply *Object
	// Delete deletes an object.
	Delete *Object
	// Pod makes a Pod and waits until it is ready.
	Pod *Pod
	// Label sets a label of a Pod, or of a Namespace if Pod is empty; it removes a label without value.
	Label *Label
}

// Pod is a server like the Pods of the mesh, which probes name as "x/j".
type Pod struct {
	Namespace, Name string // Namespace is x, y or z
	// Node is the index of the Node.
	Node int
	// Labels are pod and app, with the name as value, if there are none.
	Labels map[string]string
	// Account is a service account, which is created.
	Account     string
	HostNetwork bool
}

// Label is a label of a Pod or a Namespace.
type Label struct{ Namespace, Pod, Key, Value string }

// Probe is a new connection.
type Probe struct {
	From string // "x/a"
	// To is an address, which may contain placeholders: "${z/a}".
	To       string
	Port     int    // 80 if it is 0
	Protocol string // the step's if it is empty
	Want     string
}

// Evaluation is a question about two Pods, with the columns of the answer that are expected.
type Evaluation struct {
	From, To string
	// Policy is the name of the deciding policy; empty if there is none.
	Policy string
	// Action is empty if no rule decides.
	Action string
}
