// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package multicluster sets up a ClusterSet for antctl mc, with the user's rights: it installs the controllers, makes a cluster the leader or
// a member, makes and deletes the tokens of members, and lists what clusters exchange. A command that fails takes back what it has made,
// except for deploy, which continues when it is run again. Names, annotations and files are Antrea's.
package multicluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

const (
	// DefaultMemberNamespace is the Namespace of a member's ClusterSet.
	DefaultMemberNamespace = "kube-system"
	// fieldManager is the name under which the Kubernetes API records what antctl has written.
	fieldManager = "antctl"
	// undoTimeout is for everything that a failed command takes back.
	undoTimeout = 30 * time.Second
)

// Cluster is the cluster that a command is about.
type Cluster struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Server is the URL of its Kubernetes API, as the user reaches it.
	Server string
	// Interval is the time between two looks at what a command waits for, Patience the time after which it gives up.
	Interval, Patience time.Duration
	// Say tells the user about progress.
	Say func(format string, args ...any)
}

// made are the annotations of objects that antctl makes and may delete.
func made() map[string]string {
	return map[string]string{v1alpha1.CreatedByAntctlAnnotation: "true"}
}

func isMade(object metav1.Object) bool {
	return object.GetAnnotations()[v1alpha1.CreatedByAntctlAnnotation] == "true"
}

// await asks done until it is true. When the time has passed, it returns an error that contains the last reason or error. Only errors that
// do not pass end it before.
func (c *Cluster) await(ctx context.Context, what string, done func(context.Context) (ok bool, reason string, err error)) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	last := errors.New("the Kubernetes API has not answered")
	for {
		ok, state, err := done(ctx)
		switch {
		case ok:
			return nil
		case err == nil:
			last = errors.New(state)
		case ctx.Err() != nil: // The error is the end of the time.
		case isFinal(err):
			return fmt.Errorf("waiting for %s: %w", what, err)
		default:
			last = err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
			}
			// The command's own time may be shorter.
			return fmt.Errorf("waited %v for %s: %w", min(c.Patience, time.Since(start).Round(time.Millisecond)), what, last)
		case <-time.After(c.Interval):
		}
	}
}

// finalError is an error that does not pass.
type finalError struct{ error }

// isFinal reports whether an error does not pass by itself, as an overloaded or restarting Kubernetes API does.
func isFinal(err error) bool {
	var final finalError
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || errors.As(err, &final)
}

// undo takes back what a command has done.
type undo struct {
	steps []undoStep
}

type undoStep struct {
	what string
	do   func(context.Context) error
}

// add says how a step is taken back.
func (u *undo) add(what string, do func(context.Context) error) {
	u.steps = append(u.steps, undoStep{what, do})
}

// after takes everything back, the last step first, if the command has failed, and returns all errors. It has time
// of its own: the command's may have passed.
func (u *undo) after(ctx context.Context, failure error) error {
	if failure == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	for i := len(u.steps) - 1; i >= 0; i-- {
		if err := u.steps[i].do(ctx); err != nil {
			failure = errors.Join(failure, fmt.Errorf("%s was made and could not be taken back: %w", u.steps[i].what, err))
		}
	}
	return failure
}

// only limits a deletion to the object with a UID: another one of the same name is not this command's.
func only(uid types.UID) metav1.DeleteOptions {
	if uid == "" {
		return metav1.DeleteOptions{}
	}
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// checkName says why a flag's value cannot be the name of an object.
func checkName(flag, value string) error {
	if value == "" {
		return fmt.Errorf("%s is missing", flag)
	}
	if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 {
		return fmt.Errorf("%s: %q is not a name: %s", flag, value, strings.Join(problems, "; "))
	}
	return nil
}

// checkID says why a flag's value cannot be the ID of a cluster, which is part of names and labels.
func checkID(flag, value string) error {
	if err := checkName(flag, value); err != nil {
		return err
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("%s: %q cannot be the ID of a cluster: %s", flag, value, strings.Join(problems, "; "))
	}
	return nil
}
