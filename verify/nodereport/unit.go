package nodereport

import _ "embed"

// UnitName is the systemd unit that runs `airgap node-report` on each host.
const UnitName = "airgap-node-report.service"

//go:embed airgap-node-report.service
var unit []byte

// UnitText returns the file of UnitName in airgap.rpm.
func UnitText() []byte { return unit }
