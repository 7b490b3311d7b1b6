package fleet

import (
	"context"
	"errors"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

const supportFile = "/var/tmp/airgap-support-bank.tar"

// supported collects the support bundles of all servers into one archive.
func (f *fleet) supported(ctx context.Context) error {
	r, err := f.On(ctx, f.first(), "", "airgap", "support-bundle", "--all-hosts", "--file", supportFile)
	if err != nil {
		return err
	}
	lines := []string{"[ $(stat -c %a " + supportFile + ") = 600 ]", "mkdir /run/support && tar xf " + supportFile + " --strip-components=1 -C /run/support"}
	for _, m := range f.l.Machines {
		lines = append(lines, "tar xzOf /run/support/"+m.Name()+".tar.gz --wildcards '*/status.txt' | grep -q .")
	}
	return errors.Join(r.Want("support bundles of all servers", 0, supportFile), f.Script(ctx, f.first(), append(lines, "rm -r /run/support "+supportFile)...))
}

// removesTwo removes two workers with one command, which changes the lists of the other hosts once.
func (f *fleet) removesTwo(ctx context.Context) error {
	disk, stopped := f.l.Machines[fullDisk], f.l.Machines[dead]
	r, err := f.On(ctx, f.first(), "", "airgap", "remove", disk.Name(), stopped.Name(), "--yes", scenario.LabSkips, "--progress", "plain")
	if err != nil {
		return err
	}
	if err := errors.Join(r.Want("remove two workers", 0, "node[7-8]: removed, and its host is reset"), f.hasNodes(ctx, 0, 1, 2, 3, 4, 5, behindJump)); err != nil {
		return err
	}
	for _, m := range []lab.Machine{disk, stopped} {
		if err := f.Script(ctx, m, "! test -e /etc/kubernetes/kubelet.conf", "! test -e /var/lib/airgap/journal.jsonl"); err != nil {
			return err
		}
	}
	return f.Verified(ctx, f.first())
}

// resets resets all servers with one command, the first one last. The removed workers are reset already.
func (f *fleet) resets(ctx context.Context) error {
	r, err := f.On(ctx, f.first(), "", "airgap", "reset", "--all-hosts", "--yes", "--progress", "plain")
	if err != nil {
		return err
	}
	if err := r.Want("reset all servers", 0, "are reset"); err != nil {
		return err
	}
	for _, m := range f.l.Machines {
		if err := f.Script(ctx, m, "! test -e /etc/kubernetes/kubelet.conf", "! test -e /var/lib/airgap/journal.jsonl", "! systemctl is-active -q kubelet"); err != nil {
			return err
		}
	}
	return nil
}
