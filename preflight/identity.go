package preflight

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"
)

// Identity distinguishes this host from its clones.
type Identity struct {
	MachineID string `yaml:"machineID" json:"machineID"`
	// ProductUUID is from the firmware; "" if there is none or only root can read it.
	ProductUUID string `yaml:"productUUID,omitempty" json:"productUUID,omitempty"`
}

func readIdentity(_ context.Context, r reader, f *Facts) error {
	var err error
	if f.Identity.MachineID, err = r.optional("etc/machine-id"); err != nil {
		return err
	}
	f.Identity.ProductUUID, err = r.optional("sys/class/dmi/id/product_uuid")
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

var machineIDs = Check{
	ID: "machine-ids", Title: "Machine ID is valid", Source: "Kubernetes documentation: unique product_uuid and machine-id",
	Breaks: "DHCP, the journal and parts of the cluster treat clones of one image as the same host.",
	Needs:  []string{"identity"}, Run: judgeMachineID,
}

func judgeMachineID(f *Facts, _ *Want) Result {
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(f.Identity.MachineID) {
		found := f.Identity.MachineID
		if found == "" {
			found = "none"
		}
		return Result{Fail, found, "32 hexadecimal digits in /etc/machine-id, different on each host", "run systemd-machine-id-setup, then reboot"}
	}
	return pass("%s", f.Identity.MachineID)
}

var hostname = Check{
	ID: "hostname", Title: "Host name is valid", Source: "kubeadm Hostname: DNS-1123",
	Breaks: "The node is named after the host name. Static pods do not start under a name that Kubernetes rejects.",
	Needs:  []string{"kernel"}, Run: judgeHostname,
}

// nodeName matches a DNS-1123 subdomain. The kubelet converts the name to lower case.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func judgeHostname(f *Facts, _ *Want) Result {
	name := strings.ToLower(f.Host)
	want := "a DNS name of at most 63 characters: letters, digits, hyphens and dots"
	switch {
	case name == "localhost" || strings.HasPrefix(name, "localhost."):
		return Result{Fail, f.Host, "a unique name", "run hostnamectl set-hostname NAME"}
	case len(name) > 63 || !nodeName.MatchString(name):
		return Result{Fail, f.Host, want, "run hostnamectl set-hostname NAME"}
	default:
		return pass("%s", f.Host)
	}
}
