// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// nopl 0x01434e4f(%rax)
TEXT ·Begin(SB), NOSPLIT, $0-0
	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; BYTE $0x4f; BYTE $0x4e; BYTE $0x43; BYTE $0x01
	RET

// nopl 0x02434e4f(%rax)
TEXT ·End(SB), NOSPLIT, $0-0
	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; BYTE $0x4f; BYTE $0x4e; BYTE $0x43; BYTE $0x02
	RET
