package facts

import (
	"context"
	"path"
	"strings"
)

// diskNames asks for the links from names of disks and file systems to the kernel's names:
// "/dev/disk/by-uuid/…" is "dm-3".
func (r reader) diskNames(ctx context.Context) (map[string]string, error) {
	out, err := r.output(ctx, "find", diskNamesArgs()...)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for line := range strings.Lines(out) {
		if name, target, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			names[name] = path.Base(target)
		}
	}
	return names, nil
}

func diskNamesArgs() []string {
	return []string{"/dev", "-type", "l", "(", "-path", "/dev/disk/by-*", "-o", "-path", "/dev/mapper/*", ")", "-printf", `%p %l\n`}
}

// diskLink is the link that udev makes for a tag of fstab, and the one in /dev/mapper for /dev/VG/LV. It
// is "" for other file systems.
func diskLink(spec string) string {
	tag, value, is := strings.Cut(spec, "=")
	dir := map[string]string{"UUID": "by-uuid", "LABEL": "by-label", "PARTUUID": "by-partuuid", "PARTLABEL": "by-partlabel", "ID": "by-id"}[tag]
	switch {
	case is && dir != "":
		return "/dev/disk/" + dir + "/" + strings.NewReplacer(`\`, `\x5c`, " ", `\x20`, "/", `\x2f`).Replace(value)
	case strings.HasPrefix(spec, "/dev/"):
		return mapped(spec)
	}
	return ""
}

// mapped is /dev/mapper/VG-LV for the link /dev/VG/LV; hyphens in names are doubled.
func mapped(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[1] != "dev" || parts[2] == "mapper" || parts[2] == "disk" {
		return name
	}
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	return "/dev/mapper/" + double(parts[2]) + "-" + double(parts[3])
}

// KernelName is the kernel's name of a disk: "sdb1"; "" if it is unknown.
func KernelName(names map[string]string, spec string) string {
	link := diskLink(spec)
	if name := names[link]; name != "" {
		return name
	}
	if unsteadyName.MatchString(link) {
		return path.Base(link)
	}
	return ""
}
