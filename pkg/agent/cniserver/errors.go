// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"errors"
	"fmt"

	"github.com/containernetworking/cni/pkg/types"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// cniError is an error with the code that the runtime receives.
type cniError struct {
	code    cnipb.ErrorCode
	err     error
	details string
}

func (e *cniError) Error() string { return e.err.Error() }

func (e *cniError) Unwrap() error { return e.err }

func errorf(code cnipb.ErrorCode, format string, args ...any) error {
	return &cniError{code: code, err: fmt.Errorf(format, args...)}
}

// fromTypesError keeps code, message and details of an error of the CNI library.
func fromTypesError(e *types.Error) error {
	return &cniError{code: cnipb.ErrorCode(e.Code), err: errors.New(e.Msg), details: e.Details}
}

// errorResponse turns any error into a response. An error without a code becomes UNKNOWN (0).
func errorResponse(err error) *cnipb.CniCmdResponse {
	e := &cnipb.Error{Code: cnipb.ErrorCode_UNKNOWN, Message: err.Error()}
	if coded := (*cniError)(nil); errors.As(err, &coded) {
		e.Code = coded.code
		e.Details = coded.details
	}
	return &cnipb.CniCmdResponse{Error: e}
}
