package hostcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestAddCaptures: the packets of a finding are with the check that reports it, but not with a passed or skipped
// one.
func TestAddCaptures(t *testing.T) {
	findings := []netprobe.Finding{
		{About: netprobe.AboutPorts, What: "TCP 6443 does not arrive", Capture: []string{"h0 out"}}, {About: netprobe.AboutPorts, What: "TCP 2380 does not arrive", Capture: []string{"h1 out"}},
		{About: netprobe.AboutVIP, What: "the load balancer sends no requests", NoCapture: "no packets: a number"}, {About: netprobe.AboutPaths, What: "packets are lost", Capture: []string{"h3 out"}},
		{About: netprobe.AboutVXLAN, What: "VXLAN does not arrive", Capture: []string{"h2 out"}}, {About: netprobe.AboutPorts, What: "UDP 6081 does not arrive"},
	}
	r := preflight.Report{Results: []preflight.Entry{
		{ID: preflight.PortsReach, Result: preflight.Result{Status: preflight.Fail}}, {ID: preflight.VXLANPath, Result: preflight.Result{Status: preflight.Skip}},
		{ID: preflight.PathMTU, Result: preflight.Result{Status: preflight.Warn}},
		{ID: preflight.LoadBalancer, Result: preflight.Result{Status: preflight.Fail}}, {ID: preflight.PathQuality, Result: preflight.Result{Status: preflight.Warn}},
	}}
	addCaptures(&r, findings)
	assert.Equal(t, []string{"TCP 6443 does not arrive:", "h0 out", "TCP 2380 does not arrive:", "h1 out"}, r.Results[0].Capture)
	assert.Empty(t, r.Results[1].Capture)
	assert.Empty(t, r.Results[2].Capture)
	assert.Equal(t, []string{"the load balancer sends no requests:", "no packets: a number"}, r.Results[3].Capture)
	assert.Equal(t, []string{"packets are lost:", "h3 out"}, r.Results[4].Capture)
}
