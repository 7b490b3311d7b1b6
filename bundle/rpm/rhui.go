package rpm

import (
	"net/url"
	"regexp"
	"strings"
)

// unsupportedRHUI says what to do instead.
const unsupportedRHUI = "a repository of RHUI answers only virtual machines of its cloud, with the identity of the machine, which airgap does not have. " +
	"Use the CDN of Red Hat with a subscription (login.clientCert), a Satellite, or on such a machine: dnf reposync --download-metadata -p DIR, then baseURL: file:///DIR/ID"

// rhuiHost matches rhui3.REGION.aws.ce.redhat.com and rhui-1.microsoft.com.
var rhuiHost = regexp.MustCompile(`(^|\.)rhui[0-9]*[.-]`)

// isRHUI knows the addresses of Red Hat Update Infrastructure in the clouds.
func isRHUI(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return rhuiHost.MatchString(host) || host == "cds.rhel.updates.googlecloud.com" || strings.Contains(u.Path, "/dist/rhel/rhui/")
}
