"""Refactorizations and solves with one right-hand side by two programs: `cuts-1.py OLD NEW ROUNDS THREADS MATRIX[@ORDERING]..`; medians of `bench` in ms and of turns."""

import json,subprocess,sys,statistics
old, new, rounds,th=sys.argv[1],sys.argv[2],int(sys.argv[3]),sys.argv[4]
def run(b,m):
    m,*o=m.split('@')
    j=json.loads(subprocess.run([b,'bench',m,'--json','-q','--threads',th]+(['--ordering',o[0]] if o else []),capture_output=True,text=True).stdout)
    p=j['phases']; return p['refactorization']['median']*1e3,p[[k for k in p if k.startswith('solve') and '16' not in k and 'refine' not in k][0]]['median']*1e3
for m in sys.argv[5:]:
    d={old:[],new:[]}
    for r in range(rounds):
        for b in ((old,new) if r%2==0 else (new,old)): d[b].append(run(b,m))
    f=lambda b,k: statistics.median(x[k] for x in d[b])
    print(f"{m.split('/')[-1]:26} refactor {f(old,0):8.2f} {f(new,0):8.2f} {f(new,0)/f(old,0):.2f}   solve {f(old,1):7.3f} {f(new,1):7.3f} {f(new,1)/f(old,1):.2f}",flush=True)
