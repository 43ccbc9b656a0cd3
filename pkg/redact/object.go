// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// optionName is an element of a command line whose next element is secret.
	optionName = regexp.MustCompile(`(?i)^--?[\w.-]*` + secretName + `$`)
	// assignment is an element that has a secret up to its end, whatever is in it.
	assignment = regexp.MustCompile(`(?is)^(-{0,2}[\w.-]*` + secretName + `\s*[:=]).*`)
)

// volumes have names of secrets, not secrets.
var volumes = []string{"secret", "serviceAccountToken"}

// knownAnnotations are the domains of annotations that say something about the cluster. Others have what their owners want,
// such as a whole object.
var knownAnnotations = []string{"kubernetes.io", "k8s.io", "antrea.io", "cncf.io"}

// Object removes secrets from a decoded JSON value, in place, and returns it. Of objects of Kubernetes it also removes what is never needed
// and may be secret: the values of environment variables and of probes' headers, annotations of others, and managed fields.
func Object(value any) any {
	switch value := value.(type) {
	case string:
		return string(Text([]byte(value)))
	case []any:
		list(value)
	case map[string]any:
		object(value)
	}
	return value
}

func list(elements []any) {
	secret := false
	for i, element := range elements {
		text, ok := element.(string)
		switch {
		case secret && ok:
			elements[i] = Mark
		case ok && assignment.MatchString(text):
			elements[i] = assignment.ReplaceAllString(text, "${1}"+Mark)
		default:
			elements[i] = Object(element)
		}
		secret = ok && optionName.MatchString(text)
	}
}

func object(fields map[string]any) {
	delete(fields, "managedFields")
	if annotations, ok := fields["annotations"].(map[string]any); ok {
		hideAnnotations(annotations)
	}
	name, _ := fields["name"].(string)
	for key, value := range fields {
		_, isMap := value.(map[string]any)
		switch elements, isList := value.([]any); {
		case isList && (key == "env" || key == "httpHeaders"):
			hideValues(elements)
			list(elements)
		case isSecretName(key) && !(isMap && slices.Contains(volumes, key)), strings.EqualFold(key, "value") && isSecretName(name):
			fields[key] = hide(value)
		default:
			fields[key] = Object(value)
		}
	}
}

// hide replaces everything in a value but truth values.
func hide(value any) any {
	switch value := value.(type) {
	case nil, bool:
		return value
	case []any:
		for i := range value {
			value[i] = hide(value[i])
		}
		return value
	case map[string]any:
		for key := range value {
			value[key] = hide(value[key])
		}
		return value
	}
	return Mark
}

func hideValues(pairs []any) {
	for _, pair := range pairs {
		if pair, ok := pair.(map[string]any); ok && pair["value"] != nil {
			pair["value"] = Mark
		}
	}
}

func hideAnnotations(annotations map[string]any) {
	for key := range annotations {
		domain, _, found := strings.Cut(key, "/")
		known := found && slices.ContainsFunc(knownAnnotations, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) })
		if strings.HasSuffix(key, lastApplied) {
			delete(annotations, key)
		} else if !known {
			annotations[key] = Mark
		}
	}
}
