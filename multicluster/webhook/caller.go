// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// caller is the ServiceAccount that makes a request; the zero value is another user.
type caller struct {
	namespace, name string
}

// callerOf returns the caller. A name that begins as a ServiceAccount's and is not a ServiceAccount's is refused.
func callerOf(request *admissionv1.AdmissionRequest) (c caller, refusal string) {
	name := request.UserInfo.Username
	if !strings.HasPrefix(name, serviceaccount.ServiceAccountUsernamePrefix) {
		return caller{}, ""
	}
	namespace, account, err := serviceaccount.SplitUsername(name)
	if err != nil {
		return caller{}, fmt.Sprintf("the user %q is not a ServiceAccount, but has the beginning of the name of one", name)
	}
	return caller{namespace, account}, ""
}

// isController reports whether the caller is the controller itself.
func (c Config) isController(who caller) bool { return who == caller{c.Namespace, c.Account} }

// identity is the member that a ServiceAccount is bound to.
type identity struct {
	clusterID string
	// bound says that the ServiceAccount has the annotation, found that there is such a ServiceAccount.
	bound, found bool
	// networks is the value of NetworksAnnotation.
	networks string
}

// identityOf returns the identity of a ServiceAccount in the controller's Namespace.
func (c Config) identityOf(who caller) (identity, error) {
	annotations, found, err := c.Objects.Account(who.name)
	if err != nil {
		return identity{}, fmt.Errorf("reading ServiceAccount %s/%s: %w", who.namespace, who.name, err)
	}
	id, bound := annotations[v1alpha1.ClusterIDAnnotation]
	return identity{clusterID: id, bound: bound, found: found, networks: annotations[v1alpha1.NetworksAnnotation]}, nil
}

// dashPrefix reports whether one of two IDs begins with the other and a dash: names that consist of an ID and more would be ambiguous.
func dashPrefix(a, b string) bool {
	return strings.HasPrefix(a, b+"-") || strings.HasPrefix(b, a+"-")
}
