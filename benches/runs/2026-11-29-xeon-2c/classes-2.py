"""Long matrices: beams, strips, a bar. classes-2.py [NAME...] writes NAME.npz; needs NumPy and SciPy, and classes-1.py beside it."""
import itertools, os, sys

names, sys.argv = sys.argv[1:], sys.argv[:1]
here = os.path.dirname(os.path.abspath(__file__))
exec(open(os.path.join(here, "classes-1.py")).read().split("for k in (sys.argv")[0])

def full(*d, per=()):
    n=int(np.prod(d)); I=np.arange(n).reshape(d); ii=[];jj=[]
    offs=[o for o in itertools.product((-1,0,1),repeat=len(d)) if o>tuple([0]*len(d))]
    for o in offs:
        a=[];b=[]
        J=I
        s0=[];s1=[]
        for ax,k in enumerate(o):
            if ax in per:
                J=np.roll(J,-k,axis=ax); s0.append(slice(None)); s1.append(slice(None))
            else:
                s0.append(slice(max(0,-k),d[ax]-max(0,k))); s1.append(slice(max(0,k),d[ax]-max(0,-k)))
        ii.append(I[tuple(s0)].ravel()); 
        # rolled axes handled in J
        jj.append(J[tuple(s1)].ravel())
    i=np.concatenate(ii); j=np.concatenate(jj); k=i!=j
    return i[k],j[k],n
def dof(i,j,n,b):
    P=sp.coo_matrix((np.ones(len(i)),(i,j)),shape=(n,n)); P=P+P.T+sp.identity(n)
    return dom(sp.kron(P,np.ones((b,b))))
H={}
H['beam27_8x8x2000']=lambda: lap(*full(8,8,2000))
H['beam27_2000x8x8']=lambda: lap(*full(2000,8,8))
H['elbeam_6x6x1500']=lambda: dof(*full(1500,6,6),3)
H['strip200x2000']=lambda: lap(*grid(200,2000))
H['strip100x5000_9']=lambda: lap(*full(100,5000))
def rstrip(n,asp,k):
    X=rng.random((n,2)); X[:,0]*=asp; t=cKDTree(X); r=(k*asp/n/np.pi)**0.5; p=t.query_pairs(r,output_type='ndarray'); return p[:,0],p[:,1],n
H['rstrip200000']=lambda: lap(*rstrip(200000,60,10))
H['longsolid12x12x600']=lambda: lap(*full(600,12,12))
for k in (names or H): save(k,H[k]())
