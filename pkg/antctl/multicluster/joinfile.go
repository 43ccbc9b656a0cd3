// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	joinVersion = "multicluster.antrea.io/v1alpha1"
	joinKind    = "ClusterSetJoinConfig"
	// maxJoinFile bounds what is read of a file with a join configuration or a Secret.
	maxJoinFile = 1 << 20
)

// JoinConfig says which ClusterSet a cluster joins. It is the content of the file of antctl mc join.
type JoinConfig struct {
	APIVersion      string `json:"apiVersion"`
	Kind            string `json:"kind"`
	ClusterSetID    string `json:"clusterSetID,omitempty"`
	ClusterID       string `json:"clusterID,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	LeaderClusterID string `json:"leaderClusterID,omitempty"`
	LeaderNamespace string `json:"leaderNamespace,omitempty"`
	LeaderAPIServer string `json:"leaderAPIServer,omitempty"`
	// TokenSecretName is a Secret in Namespace. It counts more than TokenSecretFile, and that more than a Secret in the file.
	TokenSecretName string `json:"tokenSecretName,omitempty"`
	TokenSecretFile string `json:"tokenSecretFile,omitempty"`
}

func writeJoin(j JoinConfig) ([]byte, error) {
	j.APIVersion, j.Kind = joinVersion, joinKind
	return yaml.Marshal(j)
}

// ReadJoin reads a file with a JoinConfig and, in a second document, the Secret with the token, if there is one.
func ReadJoin(r io.Reader) (j JoinConfig, secret *corev1.Secret, err error) {
	documents, err := split(r)
	if err != nil {
		return j, nil, err
	}
	if len(documents) == 0 || len(documents) > 2 {
		return j, nil, fmt.Errorf("it has %d documents; want a %s, and at most a Secret after it", len(documents), joinKind)
	}
	if err := yaml.UnmarshalStrict(documents[0], &j); err != nil {
		return j, nil, fmt.Errorf("the first document is not a %s: %w", joinKind, err)
	}
	if j.APIVersion != joinVersion || j.Kind != joinKind {
		return j, nil, fmt.Errorf("the first document is %s %q; want %s of %s", j.Kind, j.APIVersion, joinKind, joinVersion)
	}
	if len(documents) == 2 {
		secret, err = parseSecret(documents[1])
	}
	return j, secret, err
}

// ReadSecret reads a file with the Secret of a member.
func ReadSecret(r io.Reader) (*corev1.Secret, error) {
	documents, err := split(r)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("it has %d documents; want one Secret", len(documents))
	}
	return parseSecret(documents[0])
}

// parseSecret returns the name and the data of a Secret with a token. Nothing else of it is used.
func parseSecret(document []byte) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict(document, &secret); err != nil {
		// The text of the error could contain the token.
		return nil, errors.New("the Secret cannot be read: it is not a Secret of version v1 in YAML")
	}
	if secret.APIVersion != "v1" || secret.Kind != "Secret" {
		return nil, fmt.Errorf("it has %s %q instead of a Secret of v1", secret.Kind, secret.APIVersion)
	}
	if err := checkName("the Secret's name", secret.Name); err != nil {
		return nil, err
	}
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	if !hasToken(&secret) {
		return nil, fmt.Errorf("the Secret %s lacks %s or %s", secret.Name, corev1.ServiceAccountTokenKey, corev1.ServiceAccountRootCAKey)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret.Name}, Type: corev1.SecretTypeOpaque, Data: secret.Data}, nil
}

// split returns the documents of a file that have content.
func split(r io.Reader) (documents [][]byte, err error) {
	limited := &io.LimitedReader{R: r, N: maxJoinFile + 1}
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(limited)); ; {
		document, err := reader.Read()
		if limited.N <= 0 {
			return nil, fmt.Errorf("it is larger than %d bytes", maxJoinFile)
		}
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(document, &content); err != nil || content != nil {
			documents = append(documents, document)
		}
	}
}
