"""Commands of the shell from cells, and other processes."""

# %%
!echo hello

# %%
lines = !printf 'a\nb\nc\n'
lines

# %%
lines.n, lines.s, list(lines)

# %%
type(lines).__name__

# %%
!!echo listed

# %%
name = "world"
!echo hello {name} $name

# %%
!echo $HOME_THAT_IS_NOT_SET end

# %%
!echo {1 + 2} {name.upper()}

# %%
!echo $$ > /dev/null; echo done

# %%
!exit 3

# %%
_exit_code

# %%
!true
_exit_code

# %%
!no-such-command-here > /dev/null 2>&1
_exit_code

# %%
!python -c "print(6 * 7)"

# %%
!python3 -c "import numpy; print(numpy.array([1, 2]).sum())"

# %%
!python -c "import sys; print(sys.version_info[:2])"

# %%
import sys, subprocess

subprocess.run([sys.executable, "-c", "print('from a child')"], capture_output=True, text=True)

# %%
subprocess.run(["python", "-c", "print('by name')"], capture_output=True, text=True).stdout

# %%
subprocess.check_output(["echo", "bytes"])

# %%
subprocess.run(["false"], check=True)

# %%
subprocess.run(["no-such-program"])

# %%
subprocess.run("echo to the cell", shell=True)

# %%
print("first")
!echo second
print("third")

# %%
!seq 3 | tail -1

# %%
!printf 'x,y\n1,2\n' > made.csv; cat made.csv

# %%
!ls made.csv

# %%
files = !ls *.csv
sorted(files)

# %%
for n in range(2):
    !echo loop {n}

# %%
import os

os.system("exit 2")

# %%
os.popen("echo popen").read()

# %%
def listing():
    got = !echo inside a function
    return got


listing()

# %%
!echo "quoted 'text' here"

# %%
!echo one \
  two

# %%
!cat <<< "here string" 2>/dev/null || echo "no here strings"

# %%
%sx echo by sx

# %%
%system echo by system

# %%
%%bash
for i in 1 2; do
  echo "line $i"
done

# %%
%%bash
echo before
false
echo after

# %%
%%bash
exit 4

# %%
%%sh -s argument
echo "got $1"

# %%
%%script bash
echo script

# %%
%%script --no-raise-error bash
exit 2

# %%
%%!
echo all of it
echo as a list

# %%
!python script_beside.py a b

# %%
%run script_beside.py c

# %%
import shutil

shutil.which("python") is not None, shutil.which("no-such-thing")

# %%
os.path.basename(sys.executable).startswith("python")

# %%
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
p.communicate("through a pipe")

# %%
try:
    subprocess.run(["sleep", "5"], timeout=0.2)
except subprocess.TimeoutExpired as error:
    print("timed out", error.cmd)

# %%
x = !echo 5
int(x[0]) + 1

# %%
!echo no newline at the end | tr -d '\n'

# %%
!>&2 echo to stderr
