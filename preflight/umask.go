package preflight

import (
	"context"
	"regexp"
	"strconv"
	"strings"
)

// Umask is what new files are made without.
type Umask struct {
	Login string `yaml:"login,omitempty" json:"login,omitempty"` // of /etc/login.defs, for people
	// Units and File are what a drop-in for all of systemd's services says,
	// and the drop-in.
	Units string `yaml:"units,omitempty" json:"units,omitempty"`
	File  string `yaml:"file,omitempty" json:"file,omitempty"`
}

var (
	loginUmask = regexp.MustCompile(`(?m)^\s*UMASK\s+([0-7]+)`)
	unitUmask  = regexp.MustCompile(`(?m)^\s*UMask\s*=\s*([0-7]+)`)
)

// serviceDropIns apply to every service: systemd.unit(5), drop-in directories of a
// unit type. /etc comes last and wins.
func serviceDropIns() []string {
	return []string{"usr/lib/systemd/system/service.d", "run/systemd/system/service.d", "etc/systemd/system/service.d"}
}

func readUmask(_ context.Context, r reader, f *Facts) error {
	defs, err := r.optional("etc/login.defs")
	if err != nil {
		return err
	}
	if m := loginUmask.FindStringSubmatch(defs); m != nil {
		f.Umask.Login = m[1]
	}
	for _, dir := range serviceDropIns() {
		names, err := r.names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".conf") {
				continue
			}
			text, err := r.text(dir + "/" + name)
			if err != nil {
				return err
			}
			for _, m := range unitUmask.FindAllStringSubmatch(text, -1) {
				f.Umask.Units, f.Umask.File = m[1], "/"+dir+"/"+name
			}
		}
	}
	return nil
}

var umask = Check{
	ID: "umask", Title: "File mode mask", Source: "kubernetes#96342",
	Breaks: "What the kubelet and the runtime make for pods can be read by root alone, and pods with other users fail.",
	Needs:  []string{"umask"}, Run: judgeUmask,
}

// judgeUmask leaves the mask of logins alone: airgap sets its own, and containerd's and
// CRI-O's units name theirs. The kubelet's is what systemd gives it.
func judgeUmask(f *Facts, _ *Want) Result {
	if mask, err := strconv.ParseUint(f.Umask.Units, 8, 16); err == nil && mask&0o055 != 0 {
		return Result{Warn, "UMask=" + f.Umask.Units + " for all services in " + f.Umask.File, "0022 for the kubelet",
			"have systemd leave the kubelet out: UMask=0022 in /etc/systemd/system/kubelet.service.d/99-umask.conf, then systemctl daemon-reload"}
	}
	if f.Umask.Login != "" && f.Umask.Login != "022" {
		return pass("%s at login; install and the services have 022", f.Umask.Login)
	}
	return pass("022")
}
