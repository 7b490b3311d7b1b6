package debian

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

// Dependencies are the provides and requires that rpmbuild's generator finds in ELF files, in
// its notation: "libmnl.so.0()(64bit)", "libc.so.6(GLIBC_2.34)(64bit)".
type Dependencies struct{ Provides, Requires []string }

// ELFDependencies returns the dependencies of the files at the paths. It ignores files that
// are not ELF files. Requires does not have the names that one of the files provides.
func ELFDependencies(paths ...string) (Dependencies, error) {
	var d Dependencies
	for _, path := range paths {
		if err := d.add(path); err != nil {
			return Dependencies{}, fmt.Errorf("read the ELF dependencies of %s: %w", path, err)
		}
	}
	d.Provides, d.Requires = sorted(d.Provides), sorted(d.Requires)
	d.Requires = slices.DeleteFunc(d.Requires, func(r string) bool { return slices.Contains(d.Provides, r) })
	return d, nil
}

func (d *Dependencies) add(path string) error {
	f, err := elf.Open(path)
	if _, is := errors.AsType[*elf.FormatError](err); is {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.addNeeds(f); err != nil {
		return err
	}
	return d.addSoname(f)
}

func (d *Dependencies) addNeeds(f *elf.File) error {
	needed, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, name := range needed {
		d.Requires = append(d.Requires, name+"()(64bit)")
	}
	if f.SectionByType(elf.SHT_GNU_VERSYM) == nil {
		return nil
	}
	versions, err := f.DynamicVersionNeeds()
	if err != nil {
		return err
	}
	for _, library := range versions {
		for _, need := range library.Needs {
			d.Requires = append(d.Requires, library.Name+"("+need.Dep+")(64bit)")
		}
	}
	return nil
}

func (d *Dependencies) addSoname(f *elf.File) error {
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil || len(names) == 0 {
		return err
	}
	d.Provides = append(d.Provides, names[0]+"()(64bit)")
	if f.SectionByType(elf.SHT_GNU_VERSYM) == nil {
		return nil
	}
	versions, err := f.DynamicVersions()
	if err != nil {
		return err
	}
	for _, v := range versions {
		// The base version is the library's own name, which no program requires.
		if v.Flags&elf.VER_FLG_BASE == 0 {
			d.Provides = append(d.Provides, names[0]+"("+v.Name+")(64bit)")
		}
	}
	return nil
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
