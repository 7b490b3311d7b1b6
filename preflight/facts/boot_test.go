package facts

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestSurveyOfNextBoot: a recording gives the same facts about the next boot.
func TestSurveyOfNextBoot(t *testing.T) {
	for _, name := range []string{"rocky9-swap-returns", "rocky9-boot-parameters", "rocky9-next-kernel", "rocky9-boot-scripts"} {
		archive, facts, err := record(t.Context(), loadHost(t, name))
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadSurvey(t.Context(), strings.NewReader(string(archive)+surveyedEnd()))
		if err != nil {
			t.Fatal(err)
		}
		sameFacts(t, again, facts)
	}
}

// TestOnly: the script's filters of the next boot leave the numbers of lines, and drop the rest.
func TestOnly(t *testing.T) {
	script, err := SurveyScript()
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?m)^only\(\).*$`).FindString(string(script))
	for _, test := range []struct{ part, text, want string }{
		{`boot/loader/entries/*.conf`, "initrd secret\n linux /vmlinuz-1\noptions\ta=1\n", "\n linux /vmlinuz-1\noptions\ta=1\n"},
		{"EFI/*/grub.cfg", "password_pbkdf2 root secret\n\tset default=\"1\"\nblscfg\n\tlinux /vmlinuz-1\n", "\n\tset default=\"1\"\nblscfg\n\tlinux /vmlinuz-1\n"},
		{"etc/rc.d/rc.local", "TOKEN=secret\nswapon /swap\n", "\nswapon /swap\n"},
		{"etc/waagent.conf", "Provisioning.Password=secret\nResourceDisk.EnableSwap=y\n", "\nResourceDisk.EnableSwap=y\n"},
		{"etc/cloud/cloud.cfg.d", "password: secret\nswap:\n - [ a, b, swap ]\n", "\nswap:\n - [ a, b, swap ]\n"},
	} {
		filter := regexp.MustCompile(regexp.QuoteMeta(test.part) + `[^\0]*?(only ('[^']*'|\w+))`).FindStringSubmatch(string(script))
		if filter == nil {
			t.Fatalf("no filter of %s", test.part)
		}
		cmd := exec.Command("sh", "-c", function+"\n"+filter[1])
		cmd.Stdin = strings.NewReader(test.text)
		if out, err := cmd.Output(); err != nil || string(out) != test.want {
			t.Errorf("%s: %q, %v, want %q", filter[1], out, err, test.want)
		}
	}
}
