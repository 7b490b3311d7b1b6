package lab

import (
	"os"
	"path/filepath"
	"testing"
)

// With a dnf that accepts wrong signatures, the lab could not test signatures.
func TestDnfChecksSignatures(t *testing.T) {
	l := boot(t, "t-dnf", KindContainer)
	ctx, m := t.Context(), l.Machines[0]
	upstream := filepath.Join(l.cache, "site/files/dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os")
	if _, err := os.Stat(filepath.Join(upstream, "repodata/repomd.xml.asc")); err != nil {
		t.Skip("needs the lab's upstream: ", err)
	}
	if err := m.AttachStick(ctx, upstream); err != nil {
		t.Fatal(err)
	}
	// prepare makes a correct repository in /root/repo.
	const prepare = `
		set -e
		rm -rf /root/repo /root/repos.d /var/cache/dnf
		cp -r /run/media/stick /root/repo
		mkdir /root/repos.d
		cat >/root/repos.d/a.repo <<-END
			[a]
			name=a
			baseurl=file:///root/repo
			gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9
			gpgcheck=1
			repo_gpgcheck=1
		END
		cd /root/repo
	`
	const install = "\nexec dnf -y --setopt=reposdir=/root/repos.d install conntrack-tools"
	for _, tc := range []struct{ name, damage string }{
		{"index changed", "echo >>repodata/repomd.xml"},
		{"index not signed", "rm repodata/repomd.xml.asc"},
		{"metadata changed", "printf x | dd of=$(ls repodata/*-primary.xml.gz) bs=1 seek=100 conv=notrunc status=none"},
		{"package changed", "f=$(ls Packages/c/conntrack-tools-*); printf xxxx | dd of=$f bs=1 seek=$(($(stat -c %s $f) - 100)) conv=notrunc status=none"},
		{"another vendor's key", "sed -i s,RPM-GPG-KEY-Rocky-9,none, /root/repos.d/a.repo; rpm -e --allmatches gpg-pubkey 2>/dev/null || true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, err := Output(ctx, m, "sh", "-c", prepare+tc.damage+install); err == nil {
				t.Errorf("dnf installed it:\n%s", out)
			}
		})
	}
	if out, err := Output(ctx, m, "sh", "-c", prepare+install); err != nil {
		t.Errorf("dnf refuses the correct repository: %v\n%s", err, out)
	}
	if out, err := Output(ctx, m, "conntrack", "--version"); err != nil {
		t.Errorf("the installed program does not run: %v %s", err, out)
	}
}
