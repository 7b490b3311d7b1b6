package build

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/pieces"
	"airgap.dev/airgap/internal/media"
	"airgap.dev/airgap/internal/ui"
)

// defaultPartSize is the largest file of FAT32, as a multiple of a chunk.
const defaultPartSize = "4095MiB"

// partSizeFor returns the size of the parts: the one of --part-size, or else the default, or less for the gate.
func partSizeFor(asked string, gate *media.Gate) (int64, error) {
	if asked != "" {
		return parsePartSize(asked)
	}
	size, err := parsePartSize(defaultPartSize)
	if err != nil || gate == nil || gate.MaxBytes() == 0 {
		return size, err
	}
	return max(bundle.MinPartSize, min(size, gate.MaxBytes()/bundle.ChunkSize*bundle.ChunkSize)), nil
}

// parts are the parts of a bundle: several are cut from one tar.
type parts struct {
	size  int64 // of the largest one
	count int
}

// gateWarnings says why the bundle would not pass the gate as it is, and what does.
func gateWarnings(gate *media.Gate, cut parts, stick []bundle.StickFile) []string {
	if gate == nil {
		return nil
	}
	largest, name := cut.size, "a part"
	for _, f := range stick {
		if f.Size() > largest {
			largest, name = f.Size(), f.Name
		}
	}
	var all []string
	say := func(format string, args ...any) { all = append(all, "media.gate: "+fmt.Sprintf(format, args...)) }
	if limit := gate.MaxBytes(); limit > 0 && largest > limit {
		say("the gate accepts files of at most %s, and %s has up to %s: use a smaller --part-size, or airgap pack", gate.MaxFileSize, name, ui.Size(largest))
	}
	if blocked := notAccepted(gate, stick); len(blocked) > 0 {
		say("the gate accepts only %s, and the bundle has %s: use airgap pack", ui.And(gate.Extensions), ui.And(blocked))
	}
	if gate.Makes(media.Names) {
		say("the gate renames files, and a bundle needs its names: use airgap pack")
	}
	if gate.Makes(media.Programs) {
		say("the gate removes programs, and a bundle has airgap and airgap.rpm: use airgap pack, or ask for an exception for both")
	}
	if gate.Makes(media.Text) {
		say("the gate converts text files: documentation may differ then, but not SHA256SUMS and the keys: use airgap pack, or ask for an exception for the directory")
	}
	pack := len(all) > 0
	if closed := notOpened(pack, cut.count); gate.OpensArchives && closed != "" {
		say("the gate must look into every file, and cannot look into %s: agree with its owner that it scans the whole bundle%s (cat bundle.tar.* | tar x)", closed, before(pack))
	}
	if pack {
		all = append(all, "media.gate: "+packAdvice(gate))
	}
	return all
}

// notOpened are the files that a scanner cannot open alone; "" for none.
func notOpened(pack bool, count int) string {
	var closed []string
	if count > 1 {
		closed = append(closed, fmt.Sprintf("one of the %d parts alone, because they are cut from one tar", count))
	}
	if pack {
		closed = append(closed, "a piece of airgap pack")
	}
	return strings.Join(closed, ", or into ")
}

func before(pack bool) string {
	if pack {
		return " before airgap pack"
	}
	return ""
}

// notAccepted are the files whose extensions the gate does not accept; one part stands for all.
func notAccepted(gate *media.Gate, stick []bundle.StickFile) (names []string) {
	if len(gate.Extensions) == 0 {
		return nil
	}
	all := []string{"bundle.tar.000", bundle.IndexName, bundle.SumsName, bundle.SignatureName, bundle.PublicKeyName}
	for _, f := range stick {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return slices.Contains(gate.Extensions, strings.ToLower(path.Ext(name))) })
}

// packAdvice is the command for pieces that the gate accepts.
func packAdvice(gate *media.Gate) string {
	ext := extensionFor(gate)
	if ext == "" {
		return fmt.Sprintf("airgap pack can write none of %s, because a gate expects their formats: ask the owner of the gate to accept .zip, and add it to media.gate.extensions", ui.And(gate.Extensions))
	}
	size := "1900MiB"
	if gate.MaxBytes() > 0 {
		size = fmt.Sprintf("%dMiB", min(gate.MaxBytes(), pieces.MaxSize)>>20)
	}
	return fmt.Sprintf("after this command: airgap pack --size %s --ext %s DIR OUT", size, ext)
}

// extensionFor is an extension of pieces that the gate accepts; "" for none.
func extensionFor(gate *media.Gate) string {
	if len(gate.Extensions) == 0 {
		return ".zip"
	}
	usable := slices.IndexFunc(gate.Extensions, func(e string) bool { return pieces.CheckExtension(e) == nil })
	if usable < 0 {
		return ""
	}
	return gate.Extensions[usable]
}
