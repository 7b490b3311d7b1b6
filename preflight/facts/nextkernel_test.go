package facts

import (
	"strings"
	"testing"
)

// TestNextKernel: the survey has the boot loader's default entry, or why it is unreadable.
func TestNextKernel(t *testing.T) {
	const entry = "-- fs/boot/loader/entries/a1-5.14.0-427.el9.x86_64.conf --\nlinux /vmlinuz-5.14.0-427.el9.x86_64\n"
	saved := func(id string) string { return "-- fs/boot/grub2/grubenv --\nsaved_entry=" + id + "\n" }
	for _, test := range []struct{ name, recording, want, unknown string }{
		{"chosen", saved("a1-5.14.0-427.el9.x86_64") + entry, "5.14.0-427.el9.x86_64", ""},
		{"an index", saved("0") + entry, "5.14.0-427.el9.x86_64", ""},
		{"a removed kernel", saved("a1-5.14.0-70.el9.x86_64") + entry, "5.14.0-427.el9.x86_64", ""},
		{"no entries", saved("a1-5.14.0-427.el9.x86_64"), "", ""},
		{"no default entry", entry, "5.14.0-427.el9.x86_64", ""},
		{"readable only by root", "-- denied/boot/grub2/grubenv --\nopen boot/grub2/grubenv: permission denied\n", "", "permission denied"},
	} {
		f, err := ReadSurvey(t.Context(), strings.NewReader(test.recording+surveyedEnd()))
		if err != nil {
			t.Fatal(err)
		}
		if why := strings.Join(f.Why("nextKernel"), " "); f.Kernel.Next != test.want || !strings.Contains(why, test.unknown) || (why == "") != (test.unknown == "") {
			t.Errorf("%s: %q (%s), want %q (%s)", test.name, f.Kernel.Next, why, test.want, test.unknown)
		}
	}
}
