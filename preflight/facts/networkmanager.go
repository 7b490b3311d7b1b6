package facts

import "airgap.dev/airgap/internal/nevra"

// NetworkManagerVersion is the version of the installed NetworkManager if nm-cloud-setup of that
// version keeps addresses and routes of others; else "".
func (f *Facts) NetworkManagerVersion() string {
	fixed := nevra.EVR{Version: "1.32"}
	p := f.Installed("NetworkManager")
	if p == nil {
		return ""
	}
	if n, err := p.NEVRA(); err != nil || (nevra.EVR{Version: n.Version}).Compare(fixed) < 0 {
		return ""
	}
	return p.Version
}
