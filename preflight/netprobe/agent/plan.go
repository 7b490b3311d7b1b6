package agent

import "airgap.dev/airgap/preflight/netprobe"

// hostPlan is the plan on this host.
type hostPlan struct{ *netprobe.Plan }
