package medium

import "strings"

// withoutExt4 is the option of mkfs.ext4 that switches off the features of newer kernels. mkfs.ext4 sets casefold only on
// demand. An older mkfs.ext4 refuses the names of features that it does not know.
func (m *Medium) withoutExt4() string {
	off := []string{"^casefold"}
	for _, f := range m.Features {
		if f.Name != "casefold" {
			off = append(off, "^"+f.Name)
		}
	}
	return "-O " + strings.Join(off, ",") + " "
}
