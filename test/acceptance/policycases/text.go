// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import (
	"fmt"
	"regexp"
)

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// Expand replaces the placeholders of a text: ${x} is a Namespace, ${x/a} the address of a Pod, ${svc x/web} the address of a Service, ${node 0} the
// name of a Node and ${nodeip 0} its address.
func Expand(text string, value func(name string) (string, bool)) (string, error) {
	var err error
	expanded := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		v, ok := value(name)
		if !ok && err == nil {
			err = fmt.Errorf("%s in %q has no value", found, text)
		}
		return v
	})
	return expanded, err
}
